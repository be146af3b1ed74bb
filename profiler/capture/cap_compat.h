/*
 * Included before everything else: binds what newer glibc moved between libraries or renumbered to
 * the oldest version of it, so that one build of libkreach.so loads on glibc 2.28 and later.
 * Programs that use CUDA have libdl and libpthread loaded there; code that runs in every process
 * (the constructor, _exit, exec) calls nothing of them.
 */
#ifndef CAP_COMPAT_H
#define CAP_COMPAT_H

#include <features.h>

#if defined(__x86_64__) && defined(__GLIBC__)
#define CAP_OLDEST(name) __asm__(".symver " #name "," #name "@GLIBC_2.2.5")
CAP_OLDEST(dladdr);
CAP_OLDEST(dlclose);
CAP_OLDEST(dlerror);
CAP_OLDEST(dlopen);
CAP_OLDEST(dlsym);
CAP_OLDEST(pthread_create);
CAP_OLDEST(pthread_sigmask);
CAP_OLDEST(pthread_attr_setstacksize);
#endif

#endif
