/*
 * Times classification, window and account on made-up runs of three sizes; run by
 * scripts/bench/account. The runs look like a training step repeated: 2000 kinds of launches on two
 * streams of each device, one launch in eight overlapping the next.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "account.h"
#include "advice.h"
#include "timeline.h"

enum { KINDS = 2000, STEP = 2500, MAX_DEVICES = 64 };

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void stop(const struct kr_err *err)
{
    fprintf(stderr, "bench_account: %s\n", err->msg);
    exit(5);
}

static void add_sites(struct kr_timeline *t)
{
    struct kr_err err = { 0 };

    for (unsigned i = 0; i < KINDS; i++) {
        static const char *const forms[] = {
            "nvjet_sm90_tst_%ux128_64x4_1x2_h_bz_coopA_TNT",
            "void at::native::vectorized_elementwise_kernel<%u, "
            "at::native::CUDAFunctor_add<float>, "
            "std::array<char*, 3ul> >(int)",
            "triton_red_fused_native_layer_norm_%u",
            "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<%uul>)",
        };
        struct kr_site site = { .kind = KR_KERNEL };
        char name[256];
        const int len = snprintf(name, sizeof name, forms[i % 4], i);

        site.name = kr_strpool_intern(t->strings, name, (size_t)len, &err);
        site.grid[0] = i;
        if (site.name == KR_STR_NONE || kr_timeline_site(t, &site, &err) == UINT32_MAX)
            stop(&err);
    }
}

static struct kr_timeline *make_run(size_t n, unsigned n_devices)
{
    struct kr_err err = { 0 };
    struct kr_timeline *t = kr_timeline_new(&err);
    int64_t at[MAX_DEVICES] = { 0 };
    uint64_t state = 1;

    if (!t)
        stop(&err);
    add_sites(t);
    for (unsigned d = 0; d < n_devices; d++) {
        for (unsigned s = 0; s < 2; s++) {
            const struct kr_track key = { .device = kr_timeline_device(t, d, &err), .stream = s };

            kr_timeline_track(t, key, &err);
        }
    }
    for (size_t i = 0; i < n; i++) {
        const unsigned d = (unsigned)(i % n_devices);
        struct kr_event e = { .lead_ns = 5000, .correlation = (uint32_t)i };

        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        e.site = (uint32_t)(i / n_devices % STEP < KINDS ? i / n_devices % STEP : i % 64);
        e.dur_ns = 1000 + (state >> 33) % 9000;
        e.track = (uint16_t)(2 * d + e.site % 2);
        e.start_ns = at[d];
        at[d] += (int64_t)((state >> 50) % 8 ? e.dur_ns + 500 : e.dur_ns / 2);
        if (!kr_timeline_add_event(t, e, &err))
            stop(&err);
    }
    if (!kr_timeline_finish(t, &err))
        stop(&err);
    return t;
}

static void time_run(const struct kr_rules *rules, size_t n, unsigned n_devices)
{
    struct kr_timeline *t = make_run(n, n_devices);
    struct kr_err err = { 0 };
    struct kr_window window;
    struct kr_account account;
    struct kr_advice *advice;
    struct kr_tag *tags;
    struct rusage usage;
    size_t n_advice;
    double at_s[5];

    at_s[0] = now_s();
    if (!kr_classify(t, rules, &tags, &err))
        stop(&err);
    at_s[1] = now_s();
    if (!kr_window_choose(t, "steady", &window, &err))
        stop(&err);
    at_s[2] = now_s();
    if (!kr_account_make(t, tags, rules, &window, &account, &err))
        stop(&err);
    at_s[3] = now_s();
    if (!kr_advice_find(t, tags, rules, &account, &advice, &n_advice, &err))
        stop(&err);
    at_s[4] = now_s();
    getrusage(RUSAGE_SELF, &usage);
    printf("%9zu launches, %u device%s: classify %.3f s, window %.3f s, account %.3f s, "
           "advice %.3f s; classify + account %.1f ns a launch; peak %ld MiB\n",
           n, n_devices, n_devices == 1 ? "" : "s", at_s[1] - at_s[0], at_s[2] - at_s[1],
           at_s[3] - at_s[2], at_s[4] - at_s[3],
           1e9 * (at_s[1] - at_s[0] + at_s[3] - at_s[2]) / (double)n, usage.ru_maxrss / 1024);
    printf("          %s; busy %.3f of %.3f s\n", window.how, (double)account.time.busy_ns / 1e9,
           (double)account.time.wall_ns / 1e9);
    free(advice);
    free(tags);
    kr_account_free(&account);
    kr_window_free(&window);
    kr_timeline_free(t);
}

int main(int argc, char **argv)
{
    const size_t most = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000000;
    struct kr_err err = { 0 };
    struct kr_rules *rules = kr_rules_load(NULL, &err);

    if (!rules)
        stop(&err);
    time_run(rules, most / 16, 1);
    time_run(rules, most / 4, 1);
    time_run(rules, most, 1);
    time_run(rules, most, 8);
    kr_rules_free(rules);
    return 0;
}
