/*
 * Text for people and machines: numbers in fixed spellings, and names that came from strangers made
 * safe to print. Nothing here depends on the locale.
 */
#ifndef KR_TEXT_H
#define KR_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A number as text, by value, so that several can stand in one printf. */
struct kr_number {
    char s[40];
};

/* Units that a table's times are shown in. */
enum kr_unit { KR_UNIT_US, KR_UNIT_MS, KR_UNIT_S };

/** "us", "ms", "s". */
const char *kr_unit_name(enum kr_unit unit);

/** The unit in which a table of parts of this whole is easiest to read. */
enum kr_unit kr_unit_for(uint64_t whole_ns);

/** A time in a table's unit with three decimals: 1234567 ns in ms is "1.235". */
struct kr_number kr_text_time(uint64_t ns, enum kr_unit unit);

/** A time with the unit that suits it and three digits: "31.4 ms", "817 ns". */
struct kr_number kr_text_duration(double ns);

/**
 * A share as a percentage without its sign: 0.2341 is "23.4"; what would read as zero and is not is
 * "<0.1" or ">-0.1"; NAN is "-".
 */
struct kr_number kr_text_percent(double frac);

/** "64.0..65.1"; "-" when both ends are NAN. */
struct kr_number kr_text_percent_range(double lo, double hi);

/** The same with two decimals, for time saved: what kernels bring is often below one percent. */
struct kr_number kr_text_saved(double frac);
struct kr_number kr_text_saved_range(double lo, double hi);

/** A factor: "1.31x"; "no limit" when infinite; "-" when NaN. */
struct kr_number kr_text_gain(double gain_x);

/** A whole number with commas: "12,345". */
struct kr_number kr_text_count(uint64_t n);

/** "817 B", "12.3 MB" (powers of ten). */
struct kr_number kr_text_bytes(uint64_t bytes);

/** part / whole, NAN when the whole is 0. */
double kr_frac(uint64_t part, uint64_t whole);

/**
 * Length of the well-formed UTF-8 character at s [bytes], 0 when there is none.
 * Overlong forms, surrogates and values above U+10FFFF are not well-formed.
 */
size_t kr_utf8_char(const char *s, size_t len);

/**
 * True for a well-formed character that can do something to a terminal: controls (C0, DEL, C1) and
 * those that turn the direction of text or break its line (Unicode TR 36).
 */
bool kr_utf8_is_control(const char *s, size_t char_len);

/**
 * Writes text so that it can do nothing to a terminal: control characters and bytes that are
 * not UTF-8 become \xNN.
 */
void kr_plain_textn(FILE *out, const char *s, size_t len);
void kr_plain_text(FILE *out, const char *s);

/**
 * The same as one word of a command line, for the user to copy: in quotes where the shell wants
 * them, and never like an option; "-" stays.
 */
void kr_plain_word(FILE *out, const char *s);

#endif
