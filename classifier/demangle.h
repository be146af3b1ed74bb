/* Itanium C++ demangling of kernel names: what a rule needs, and bounded on hostile input. */
#ifndef KR_DEMANGLE_H
#define KR_DEMANGLE_H

#include <stddef.h>

#include "err.h"

/** True when the name looks mangled: "_Z" followed by something. */
bool kr_demangle_is_mangled(const char *name, size_t len);

/**
 * The qualified name with its template arguments, as rules see it.
 *
 * Cv-qualifiers, the return type and the parameter lists (nested ones become "()") are left out:
 * tools disagree on how to write them. A lambda reads {lambda(float)#1}. A name that ends early, or
 * whose substitutions would grow beyond bounds, is not an error: its identifiers are then listed in
 * order, e.g. flash::flash_fwd_kernel<Flash_fwd_kernel_traits.
 *
 * Time and memory are linear in len. Source of the grammar: Itanium C++ ABI, section 5.1.
 * @return a string owned by the caller (free), NULL with err filled (KR_ENOMEM).
 */
char *kr_demangle(const char *name, size_t len, struct kr_err *err);

/**
 * What can be said of a mangled name that does not parse: its identifiers, in order.
 * @param out  room for 2 * len bytes; no NUL is written
 * @return the bytes written
 */
size_t kr_demangle_identifiers(const char *name, size_t len, char *out);

#endif
