/* Kernel names: one spelling for what torch, nsys, nvprof and ncu each write their own way. */
#ifndef KR_KERNEL_NAME_H
#define KR_KERNEL_NAME_H

#include <stddef.h>

#include "err.h"

/**
 * The one spelling that rules see: demangled; return type and parameter list removed; "(int)4",
 * "int=4", "4u" and "4ul" written 4; "<unnamed>" written "(anonymous namespace)";
 * "[lambda(float) (instance 1)]" written "{lambda(float)#1}"; no spaces except between words.
 * @return a string owned by the caller (free), NULL with err filled (KR_ENOMEM).
 */
char *kr_kernel_name_normalise(const char *name, struct kr_err *err);

/**
 * A name short enough to read: namespaces and template arguments dropped except the functor that
 * says what an elementwise or reduce kernel computes.
 * @param normalised  a result of kr_kernel_name_normalise
 * @param max_len     longest result [bytes, >= 16]; longer ones are cut in the middle with ".."
 * @return a string owned by the caller (free), NULL with err filled (KR_ENOMEM).
 */
char *kr_kernel_name_short(const char *normalised, size_t max_len, struct kr_err *err);

#endif
