/* Memory that is kept until the process ends: small pieces share pages. */
#ifndef CAP_KEEP_H
#define CAP_KEEP_H

#include <stddef.h>

/** Zeroed bytes, aligned for nothing; NULL when out of memory. Any thread, lock-free. */
char *cap_keep(size_t bytes);

#endif
