/* The program's side of NVTX: loads the injection as NVTX does and calls through its tables. */
#ifndef FAKE_NVTX_H
#define FAKE_NVTX_H

/**
 * op: "push" and "pop" (default domain); "dpush" of DOMAIN/NAME, or of NAME in the default one
 * (registered string), and "dpop" of DOMAIN; "start" and "end" (the last started); "mark"; "wpush"
 * and "wdpush" (wide characters). Others are ignored.
 */
void fake_nvtx(const char *op, const char *name);

#endif
