#include "kreach_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(bool good, const struct kr_err *err)
{
    if (good)
        return;
    fprintf(stderr, "kreach_build: %s\n", err->msg);
    abort();
}

static bool put_field(struct kr_bytes *out, const struct kr_field *f, struct kr_err *err)
{
    uint8_t bytes[16];

    switch (f->kind) {
    case 'v':
        return kr_bytes_varint(out, f->number, err);
    case 's':
        return kr_bytes_svarint(out, (int64_t)f->number, err);
    case 't':
        return kr_bytes_text(out, f->text, strlen(f->text), err);
    default:
        memset(bytes, (int)f->number, sizeof bytes);
        return kr_bytes_put(out, bytes, f->kind == 'u' ? 16 : 1, err);
    }
}

void kr_build_fields(struct kr_build *b, const struct kr_field *fields)
{
    struct kr_err err = { 0 };

    for (; fields->kind; fields++)
        must(put_field(&b->payload, fields, &err), &err);
}

void kr_build_flush(struct kr_build *b, uint16_t type)
{
    struct kr_err err = { 0 };

    must(kr_bytes_chunk(&b->file, type, &b->payload, &err), &err);
    b->payload.len = 0;
}

void kr_build_chunk(struct kr_build *b, uint16_t type, const struct kr_field *fields)
{
    kr_build_fields(b, fields);
    kr_build_flush(b, type);
}

void kr_build_section(struct kr_build *b, uint64_t pid)
{
    struct kr_err err = { 0 };

    must(kr_bytes_put(&b->file, KREACH_SIGNATURE, KREACH_SIGNATURE_BYTES, &err), &err);
    kr_build_chunk(b, KREACH_HEAD,
                   KR_FIELDS(KR_V(KREACH_VERSION_MAJOR), KR_V(KREACH_VERSION_MINOR), KR_V(pid),
                             KR_V(1), KR_V(1000 + pid), KR_T("0123456789abcdef")));
}

void kr_build_one_kernel(struct kr_build *b, const char *name)
{
    kr_build_chunk(b, KREACH_NAMES, KR_FIELDS(KR_V(1), KR_T(name)));
    kr_build_chunk(b, KREACH_DEVICES,
                   KR_FIELDS(KR_V(0), KR_U(0xd0), KR_T("NVIDIA H200"), KR_V(132),
                             KR_V(150754820096), KR_V(9), KR_V(0), KR_V(0)));
    kr_build_chunk(b, KREACH_TRACKS, KR_FIELDS(KR_V(0), KR_V(0), KR_V(1), KR_V(7)));
    kr_build_chunk(b, KREACH_SITES,
                   KR_FIELDS(KR_V(0), KR_B(KREACH_KERNEL), KR_V(1), KR_V(8), KR_V(2), KR_V(1),
                             KR_V(256), KR_V(1), KR_V(1), KR_V(32), KR_V(4096), KR_V(0), KR_V(0)));
}

void kr_build_begin(struct kr_build *b, uint64_t pid, const char *name)
{
    kr_build_section(b, pid);
    kr_build_one_kernel(b, name);
}

void kr_build_clock(struct kr_build *b, int64_t real_ns, int64_t raw_ns, int64_t cupti_ns)
{
    kr_build_chunk(b, KREACH_CLOCK,
                   KR_FIELDS(KR_S(real_ns), KR_S(raw_ns), KR_S(cupti_ns), KR_V(40)));
}

void kr_build_events(struct kr_build *b, const struct kr_build_work *works, size_t n)
{
    int64_t start_ns = n ? works[0].start_ns : 0;
    int64_t correlation = 0;

    kr_build_fields(b, KR_FIELDS(KR_V(n), KR_S(start_ns)));
    for (size_t i = 0; i < n; i++) {
        const struct kr_build_work *w = &works[i];

        kr_build_fields(b, KR_FIELDS(KR_V(w->track), KR_V(w->site), KR_S(w->start_ns - start_ns),
                                     KR_V(w->dur_ns), KR_S((int64_t)w->correlation - correlation)));
        start_ns = w->start_ns;
        correlation = w->correlation;
    }
    kr_build_flush(b, KREACH_EVENTS);
}

void kr_build_event(struct kr_build *b, uint32_t site, int64_t start_ns, uint64_t dur_ns,
                    uint32_t correlation)
{
    kr_build_events(b, &(struct kr_build_work){ 0, site, start_ns, dur_ns, correlation }, 1);
}

static void end_cleanly(struct kr_build *b)
{
    kr_build_chunk(b, KREACH_END, KR_FIELDS(KR_V(KREACH_END_EXIT), KR_T("")));
}

void kr_build_end(struct kr_build *b, uint64_t kernels)
{
    kr_build_chunk(b, KREACH_TOTALS, KR_FIELDS(KR_V(KREACH_TOTAL_KERNELS), KR_V(kernels)));
    end_cleanly(b);
}

void kr_build_recorder(struct kr_build *b, const struct kr_field *facts)
{
    kr_build_section(b, 9);
    kr_build_chunk(b, KREACH_INFO, facts);
    end_cleanly(b);
}

void kr_build_process(struct kr_build *b, uint64_t pid, const char *name, size_t n)
{
    kr_build_begin(b, pid, name);
    for (size_t i = 1; i <= n; i++)
        kr_build_event(b, 0, (int64_t)i * 1000, 100, (uint32_t)i);
    kr_build_end(b, n);
}

void kr_build_free(struct kr_build *b)
{
    kr_bytes_free(&b->file);
    kr_bytes_free(&b->payload);
}
