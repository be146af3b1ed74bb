/* Kinds of characters, the same in every locale. */
#ifndef KR_ASCII_H
#define KR_ASCII_H

#include <stdbool.h>

static inline bool kr_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/** What JSON takes for white space. */
static inline bool kr_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

#endif
