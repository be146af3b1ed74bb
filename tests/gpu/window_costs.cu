/*
 * What moving a window costs on this GPU: CUPTI's calls one by one, launches in each state of
 * attachment, and what is recorded around a move. One case per process, since a case may crash.
 *
 *   window_costs moves idle|busy|launching|graph ROUNDS   times of enable, disable and flush
 *   window_costs launches ROUNDS                    nanoseconds a launch, state by state
 *   window_costs inflight                           records of work that a disable overtakes
 *   window_costs finalize direct|exit eager|graph CYCLES   attach, record, finalize, go on
 *   window_costs waits                              finalize when no CUDA call follows
 *   window_costs windows same|other|context US N    short windows, how many kernels they record
 *   window_costs leave WORDS                        one finalize, and what runs after it
 *   window_costs stays WORDS                        replays of a graph after the kinds went off
 *
 * Who shuts a window: the thread that launches, another one, or another one with a context.
 *
 * WORDS of leave, separated by commas: eager, graph (work while recording; both are possible),
 * after (also between the disable and the finalize), again (unsubscribe and subscribe in between),
 * drained (a forced flush before it), beside (a second thread launches all the time), and who makes
 * the call at whose end it happens: launch (the program, a kernel under way), idle (the program,
 * nothing under way), own (a thread of ours, nothing under way), driver (the same by
 * cuDriverGetVersion alone, as libkreach.so does), direct (no callback).
 *
 * WORDS of stays: what is under way when the kinds go off: idle (nothing), queued (replays that
 * were launched before), launching (another thread replays without a pause); last (the kind for
 * kernels goes off last, not first), one (it is the only one), made (the graph is made while
 * recording), other (a thread without a context does it), early (the kinds went on before there was
 * a context), stream (replays on a stream of their own).
 *
 * Prints JSON lines. Built by scripts/gpu-build with the finder of CUPTI from profiler/capture.
 */
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <unistd.h>

extern "C" {
#include "cap_cupti.h"
}

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t status_ = (call);                                                              \
        if (status_ != cudaSuccess) {                                                              \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status_));                       \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#define CUPTI(call)                                                                                \
    do {                                                                                           \
        int result_ = (call);                                                                      \
        if (result_ != CUPTI_OK) {                                                                 \
            fprintf(stderr, "%s: %d\n", #call, result_);                                           \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static const int graph_kernels = 1000;
static const int replays_a_round = 4;
static const size_t buffer_bytes = 2u << 20;

static const struct {
    const char *name;
    uint32_t kind;
} kinds[] = { { "concurrent_kernel", CUPTI_KIND_CONCURRENT_KERNEL },
              { "memcpy", CUPTI_KIND_MEMCPY },
              { "memcpy2", CUPTI_KIND_MEMCPY2 },
              { "memset", CUPTI_KIND_MEMSET } };

static struct cap_cupti cupti;
static int (*finalize)(void);
static int (*enable_domain)(uint32_t on, cupti_subscriber_handle subscriber, uint32_t domain);
static cupti_subscriber_handle subscriber;

static std::atomic<long> n_kernels, n_untimed, n_requests;
static std::mutex spare_lock;
static std::vector<uint8_t *> spare;    /* buffers with memory, zeroed */
static std::atomic<int> finalize_state; /* 0 idle, 1 wanted, 2 under way, 3 done */
static std::atomic<int> finalize_result;
static std::atomic<double> finalize_ns;

static double now_ns()
{
    using namespace std::chrono;
    return (double)duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

__global__ void tiny(int *out)
{
    if (out)
        atomicAdd(out, 1);
}

__global__ void spin(long long ns)
{
    long long start, now;

    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (now - start < ns);
}

/* Times of one thing done many times. */
struct times {
    std::string name;
    std::vector<double> ns;

    void print(bool last = false)
    {
        std::sort(ns.begin(), ns.end());
        printf("\"%s\": {\"n\": %zu, \"min_us\": %.2f, \"median_us\": %.2f, \"max_us\": %.2f}%s",
               name.c_str(), ns.size(), ns[0] / 1e3, ns[ns.size() / 2] / 1e3, ns.back() / 1e3,
               last ? "" : ", ");
    }
};

template <typename F> static double timed(F f)
{
    const double start = now_ns();

    f();
    return now_ns() - start;
}

/* Buffers are made ahead: faulting one in takes a millisecond, which is not CUPTI's. */
static uint8_t *make_buffer()
{
    uint8_t *data = (uint8_t *)aligned_alloc(4096, buffer_bytes);

    memset(data, 0, buffer_bytes);
    return data;
}

static void request(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
    const std::lock_guard<std::mutex> guard(spare_lock);

    n_requests++;
    *bytes = buffer_bytes;
    *max_records = 0;
    if (spare.empty())
        spare.push_back(make_buffer());
    *buffer = spare.back();
    spare.pop_back();
}

static void complete(void *, uint32_t, uint8_t *buffer, size_t, size_t valid_bytes)
{
    void *record = nullptr;

    while (valid_bytes > 0 && cupti.next_record(buffer, valid_bytes, &record) == CUPTI_OK) {
        const struct cupti_kernel *k = (const struct cupti_kernel *)record;
        if (k->kind != CUPTI_KIND_CONCURRENT_KERNEL)
            continue;
        n_kernels++;
        n_untimed += k->end == 0;
    }
    memset(buffer, 0, valid_bytes);
    const std::lock_guard<std::mutex> guard(spare_lock);
    spare.push_back(buffer);
}

/* Finalizes once, at the end of a CUDA call of the program's, when asked to. */
static void on_call(void *, uint32_t, uint32_t, const void *data)
{
    int wanted = 1;

    if (((const struct cupti_callback_data *)data)->site != CUPTI_SITE_EXIT ||
        !finalize_state.compare_exchange_strong(wanted, 2))
        return;
    finalize_ns = timed([] { finalize_result = finalize(); });
    finalize_state = 3;
}

static void find_cupti()
{
    char why[512];
    int version = 0;

    CHECK(cudaDriverGetVersion(&version));
    if (!cap_cupti_open(&cupti, version, why, sizeof why)) {
        fprintf(stderr, "%s\n", why);
        exit(4);
    }
    *(void **)&finalize = dlsym(cupti.handle, "cuptiFinalize");
    *(void **)&enable_domain = dlsym(cupti.handle, "cuptiEnableDomain");
}

static void subscribe()
{
    struct cupti_subscriber_params params = {};
    char other[2 * CUPTI_SUBSCRIBER_NAME_BYTES] = "";

    params.struct_bytes = sizeof params;
    params.name = "window_costs";
    params.other_name = other;
    params.other_bytes = sizeof other;
    if (cupti.subscribe_v2)
        CUPTI(cupti.subscribe_v2(&subscriber, on_call, nullptr, &params));
    else
        CUPTI(cupti.subscribe(&subscriber, on_call, nullptr));
}

static void enable_all()
{
    for (const auto &kind : kinds)
        CUPTI(cupti.enable(kind.kind));
}

static void disable_all()
{
    for (const auto &kind : kinds)
        CUPTI(cupti.disable(kind.kind));
}

static void attach()
{
    subscribe();
    CUPTI(cupti.register_callbacks(request, complete));
    enable_all();
}

static cudaGraphExec_t make_graph(int *counter)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < graph_kernels; i++)
        tiny<<<1, 32, 0, stream>>>(counter);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    return exec;
}

static void launch(int n)
{
    for (int i = 0; i < n; i++)
        tiny<<<1, 32>>>(nullptr);
}

static cudaStream_t replay_stream; /* of launch_some */

static void launch_some(cudaGraphExec_t graph, int n)
{
    if (!graph)
        launch(n);
    for (int i = 0; graph && i < n; i++)
        CHECK(cudaGraphLaunch(graph, replay_stream));
}

static void warm_up()
{
    CHECK(cudaFree(nullptr));
    launch(1000);
    CHECK(cudaDeviceSynchronize());
}

/* Another thread of the program, launching without a pause; how long its launches take at most. */
struct launcher {
    std::atomic<bool> stop{ false };
    std::atomic<double> longest_ns{ 0 };
    std::thread thread;

    launcher()
        : thread([this] {
              cudaStream_t stream;
              CHECK(cudaStreamCreate(&stream));
              for (long i = 0; !stop; i++) {
                  const double ns = timed([&] { tiny<<<1, 32, 0, stream>>>(nullptr); });
                  if (ns > longest_ns)
                      longest_ns = ns;
                  if (i % 500 == 499)
                      CHECK(cudaStreamSynchronize(stream));
              }
          })
    {
    }

    void halt()
    {
        stop = true;
        if (thread.joinable())
            thread.join();
    }

    ~launcher()
    {
        halt();
    }
};

static int moves(const char *how, int rounds)
{
    const bool busy = !strcmp(how, "busy");
    std::vector<times> first(6), enables(4), disables(4);
    times flush{ "flush", {} }, forced{ "forced_flush", {} }, window{ "first_launch", {} };
    times stalled{ "longest_launch_beside", {} };

    first[0].ns = { timed(subscribe) };
    first[0].name = "subscribe";
    first[1].ns = { timed([] { CUPTI(cupti.register_callbacks(request, complete)); }) };
    first[1].name = "register";
    for (int k = 0; k < 4; k++) {
        first[2 + k].ns = { timed([&] { CUPTI(cupti.enable(kinds[k].kind)); }) };
        first[2 + k].name = std::string("first_enable_") + kinds[k].name;
        enables[k].name = std::string("enable_") + kinds[k].name;
        disables[k].name = std::string("disable_") + kinds[k].name;
    }
    warm_up();
    cudaGraphExec_t graph = !strcmp(how, "graph") ? make_graph(nullptr) : nullptr;
    {
        launcher *beside = !strcmp(how, "launching") ? new launcher : nullptr;
        for (int i = 0; i < rounds; i++) {
            if (beside)
                beside->longest_ns = 0;
            window.ns.push_back(timed([&] { launch_some(graph, 1); }));
            launch_some(graph, graph ? 1 : 100);
            CHECK(cudaDeviceSynchronize());
            if (busy)
                spin<<<1, 1>>>(20000000);
            for (int k = 0; k < 4; k++)
                disables[k].ns.push_back(timed([&] { CUPTI(cupti.disable(kinds[k].kind)); }));
            flush.ns.push_back(timed([] { CUPTI(cupti.flush_all(CUPTI_FLUSH_COMPLETE)); }));
            if (i % 8 == 7)
                forced.ns.push_back(timed([] { CUPTI(cupti.flush_all(CUPTI_FLUSH_FORCED)); }));
            for (int k = 0; k < 4; k++)
                enables[k].ns.push_back(timed([&] { CUPTI(cupti.enable(kinds[k].kind)); }));
            if (beside)
                stalled.ns.push_back(beside->longest_ns);
            CHECK(cudaDeviceSynchronize());
        }
        delete beside;
    }
    printf("{\"case\": \"moves\", \"how\": \"%s\", ", how);
    for (auto *group : { &first, &enables, &disables }) {
        for (auto &t : *group)
            t.print();
    }
    flush.print();
    forced.print();
    if (!stalled.ns.empty())
        stalled.print();
    window.print(true);
    printf("}\n");
    return 0;
}

/* Nanoseconds a launch in this state: eager and in graphs, the minimum and the median. */
static void measure(const char *state, cudaGraphExec_t graph, int rounds)
{
    const int n = 2000;
    std::vector<double> eager, replay;

    launch(200);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < rounds; i++) {
        eager.push_back(timed([&] {
            launch(n);
            CHECK(cudaDeviceSynchronize());
        }));
        replay.push_back(timed([&] {
            launch_some(graph, replays_a_round);
            CHECK(cudaDeviceSynchronize());
        }));
    }
    std::sort(eager.begin(), eager.end());
    std::sort(replay.begin(), replay.end());
    printf("{\"case\": \"launches\", \"state\": \"%s\", \"eager_min_ns\": %.0f, "
           "\"eager_median_ns\": %.0f, \"graph_min_ns\": %.0f, \"graph_median_ns\": %.0f}\n",
           state, eager[0] / n, eager[eager.size() / 2] / n,
           replay[0] / (replays_a_round * graph_kernels),
           replay[replay.size() / 2] / (replays_a_round * graph_kernels));
    fflush(stdout);
}

/* Asks for a finalize at the end of a call, and makes one. */
static bool finalize_at_exit()
{
    CUPTI(enable_domain(1, subscriber, CUPTI_DOMAIN_DRIVER));
    CUPTI(enable_domain(1, subscriber, CUPTI_DOMAIN_RUNTIME));
    finalize_state = 1;
    launch(1);
    CHECK(cudaDeviceSynchronize());
    return finalize_state == 3;
}

static int launches(int rounds)
{
    cudaGraphExec_t graph = make_graph(nullptr);

    measure("plain", graph, rounds);
    subscribe();
    measure("subscribed", graph, rounds);
    CUPTI(cupti.register_callbacks(request, complete));
    measure("registered", graph, rounds);
    CUPTI(cupti.enable(CUPTI_KIND_CONCURRENT_KERNEL));
    measure("kernels enabled", graph, rounds);
    enable_all();
    measure("all enabled", graph, rounds);
    disable_all();
    CUPTI(cupti.flush_all(CUPTI_FLUSH_COMPLETE));
    measure("disabled", graph, rounds);
    CUPTI(cupti.unsubscribe(subscriber));
    measure("disabled, unsubscribed", graph, rounds);
    subscribe();
    CUPTI(enable_domain(1, subscriber, CUPTI_DOMAIN_DRIVER));
    CUPTI(enable_domain(1, subscriber, CUPTI_DOMAIN_RUNTIME));
    measure("disabled, callback on every call", graph, rounds);
    if (!finalize_at_exit())
        fprintf(stderr, "the callback never came\n");
    measure("finalized", graph, rounds);
    attach();
    measure("attached again, enabled", graph, rounds);
    disable_all();
    CHECK(cudaDeviceSynchronize());
    CUPTI(cupti.flush_all(CUPTI_FLUSH_FORCED));
    CUPTI(finalize());
    measure("finalized again, directly", graph, rounds);
    return 0;
}

/* Kernels under way and in the queue when the kinds go off: does their record still come? */
static int inflight()
{
    attach();
    for (int round = 0; round < 3; round++) {
        n_kernels = 0;
        spin<<<1, 1>>>(30000000);
        launch(100);
        const double off_ns = timed(disable_all);
        CUPTI(cupti.flush_all(CUPTI_FLUSH_COMPLETE));
        const long at_once = n_kernels;
        launch(50); /* not to be recorded */
        CHECK(cudaDeviceSynchronize());
        CUPTI(cupti.flush_all(CUPTI_FLUSH_COMPLETE));
        const long synced = n_kernels;
        CUPTI(cupti.flush_all(CUPTI_FLUSH_FORCED));
        printf(
            "{\"case\": \"inflight\", \"at\": \"disable\", \"asked\": 101, \"disable_us\": %.1f, \"at_once\": %ld, "
            "\"after_sync\": %ld, \"after_forced\": %ld, \"untimed\": %ld}\n",
            off_ns / 1e3, at_once, synced, n_kernels.load(), n_untimed.load());
        spin<<<1, 1>>>(30000000);
        launch(100);
        const double on_ns = timed(enable_all); /* over work that was launched before */
        launch(100);
        CHECK(cudaDeviceSynchronize());
        n_kernels = 0;
        CUPTI(cupti.flush_all(CUPTI_FLUSH_COMPLETE));
        printf(
            "{\"case\": \"inflight\", \"at\": \"enable\", \"enable_us\": %.1f, \"asked\": 100, \"got\": %ld}\n",
            on_ns / 1e3, n_kernels.load());
    }
    return 0;
}

static int finalize_cycles(bool at_exit, bool graphs, int cycles)
{
    int *counter = nullptr;
    int expected = 0;
    int found = 0;

    CHECK(cudaMalloc(&counter, sizeof *counter));
    CHECK(cudaMemset(counter, 0, sizeof *counter));
    cudaGraphExec_t graph = graphs ? make_graph(counter) : nullptr;
    for (int i = 0; i < cycles; i++) {
        launcher beside; /* a second thread of the program's never stops launching */
        n_kernels = 0;
        const double attach_ns = timed(attach);
        cudaGraphExec_t second = graphs ? make_graph(counter) : nullptr; /* captured inside */
        for (int k = 0; k < 20; k++) {
            if (graphs) {
                CHECK(cudaGraphLaunch(k % 2 ? graph : second, 0));
                expected += 32 * graph_kernels;
            } else {
                tiny<<<1, 32>>>(counter);
                expected += 32;
            }
        }
        CHECK(cudaStreamSynchronize(0));
        disable_all();
        CUPTI(cupti.flush_all(CUPTI_FLUSH_COMPLETE));
        if (!at_exit) {
            beside.halt();
            CHECK(cudaDeviceSynchronize());
            CUPTI(cupti.flush_all(CUPTI_FLUSH_FORCED));
            finalize_ns = timed([] { finalize_result = finalize(); });
            finalize_state = 3;
        } else {
            CUPTI(cupti.flush_all(CUPTI_FLUSH_FORCED));
            finalize_at_exit();
        }
        if (graphs) {
            CHECK(cudaGraphLaunch(graph, 0));
            CHECK(cudaGraphLaunch(second, 0));
            expected += 2 * 32 * graph_kernels;
            CHECK(cudaStreamSynchronize(0));
            CHECK(cudaGraphExecDestroy(second));
        }
        CHECK(cudaMemcpy(&found, counter, sizeof found, cudaMemcpyDeviceToHost));
        printf("{\"case\": \"finalize\", \"how\": \"%s\", \"graphs\": %d, \"cycle\": %d, "
               "\"attach_ms\": %.2f, \"state\": %d, \"result\": %d, \"finalize_ms\": %.2f, "
               "\"kernels\": %ld, \"right\": %s}\n",
               at_exit ? "exit" : "direct", graphs, i, attach_ns / 1e6, finalize_state.load(),
               finalize_result.load(), finalize_ns / 1e6, n_kernels.load(),
               found == expected ? "true" : "false");
        fflush(stdout);
        finalize_state = 0;
    }
    return 0;
}

/* Who waits for a call that never comes takes the wish back; what that costs afterwards. */
static int waits()
{
    attach();
    launch(100);
    CHECK(cudaDeviceSynchronize());
    disable_all();
    CUPTI(enable_domain(1, subscriber, CUPTI_DOMAIN_DRIVER));
    CUPTI(enable_domain(1, subscriber, CUPTI_DOMAIN_RUNTIME));
    finalize_state = 1;
    usleep(200000);
    int wanted = 1;
    const bool withdrawn = finalize_state.compare_exchange_strong(wanted, 0);
    const double off_ns = timed([] {
        CUPTI(enable_domain(0, subscriber, CUPTI_DOMAIN_DRIVER));
        CUPTI(enable_domain(0, subscriber, CUPTI_DOMAIN_RUNTIME));
    });
    launch(100);
    CHECK(cudaDeviceSynchronize());
    int version = 0;
    CUPTI(enable_domain(1, subscriber, CUPTI_DOMAIN_RUNTIME));
    finalize_state = 1;
    std::thread([&] { cudaRuntimeGetVersion(&version); }).join();
    printf("{\"case\": \"waits\", \"withdrawn\": %s, \"domains_off_us\": %.1f, "
           "\"by_own_call_on_a_thread\": %d, \"finalize_ms\": %.2f, \"result\": %d}\n",
           withdrawn ? "true" : "false", off_ns / 1e3, finalize_state.load(), finalize_ns / 1e6,
           finalize_result.load());
    launch(100);
    CHECK(cudaDeviceSynchronize());
    return 0;
}

/* A thread of ours without a CUDA context, or with one, that shuts windows when told. */
struct shutter {
    std::atomic<int> asked{ 0 }, done{ 0 };
    std::atomic<bool> stop{ false };
    std::thread thread;

    explicit shutter(bool with_context)
        : thread([this, with_context] {
              if (with_context)
                  CHECK(cudaFree(nullptr));
              while (!stop) {
                  if (asked > done) {
                      shut();
                      done++;
                  } else {
                      usleep(5);
                  }
              }
          })
    {
    }

    static void shut()
    {
        disable_all();
        CUPTI(cupti.flush_all(CUPTI_FLUSH_COMPLETE));
    }

    ~shutter()
    {
        stop = true;
        thread.join();
    }
};

/* What a program with short NVTX ranges and a window for each of them asks of CUPTI. */
static int windows(const char *who, int pause_us, int n)
{
    std::vector<int> results(1000, 0);
    times opening{ "enable", {} }, first{ "first_launch", {} }, whole{ "window", {} };
    const bool other = strcmp(who, "same") != 0;

    subscribe();
    CUPTI(cupti.register_callbacks(request, complete));
    for (int i = 0; i < 8; i++)
        spare.push_back(make_buffer());
    warm_up();
    n_kernels = n_requests = 0;
    std::vector<long> at_tenth;
    {
        shutter beside(!strcmp(who, "context"));
        for (int i = 0; i < n; i++) {
            whole.ns.push_back(timed([&] {
                opening.ns.push_back(timed([&] {
                    for (const auto &kind : kinds)
                        results[(size_t)cupti.enable(kind.kind) % 1000]++;
                }));
                first.ns.push_back(timed([] { launch(1); }));
                launch(9);
                CHECK(cudaDeviceSynchronize());
            }));
            if (other)
                beside.asked++;
            else
                shutter::shut();
            usleep((useconds_t)pause_us);
            while (other && beside.done < beside.asked) /* what kreach does not wait for */
                ;
            if (i < 10)
                at_tenth.push_back(n_kernels);
        }
    }
    CHECK(cudaDeviceSynchronize());
    CUPTI(cupti.flush_all(CUPTI_FLUSH_COMPLETE));
    const long plain_flush = n_kernels;
    CUPTI(cupti.flush_all(CUPTI_FLUSH_FORCED));
    printf("{\"case\": \"windows\", \"who\": \"%s\", \"pause_us\": %d, \"asked\": %d, "
           "\"got\": %ld, \"after_forced\": %ld, \"untimed\": %ld, \"requests\": %ld, \"after\": [",
           who, pause_us, 10 * n, plain_flush, n_kernels.load(), n_untimed.load(),
           n_requests.load());
    for (size_t i = 0; i < at_tenth.size(); i++)
        printf("%s%ld", i ? ", " : "", at_tenth[i]);
    printf("], \"enable_results\": {");
    bool any = false;
    for (size_t i = 0; i < results.size(); i++) {
        if (results[i] > 0)
            printf("%s\"%zu\": %d", any ? ", " : "", i, results[i]);
        any = any || results[i] > 0;
    }
    printf("}, ");
    opening.print();
    whole.print();
    first.print(true);
    printf("}\n");
    return 0;
}

static bool has(const char *words, const char *word)
{
    return ("," + std::string(words) + ",").find("," + std::string(word) + ",") !=
           std::string::npos;
}

static void stage(const char *words, const char *what)
{
    const cudaError_t status = cudaDeviceSynchronize();

    printf("{\"case\": \"leave\", \"words\": \"%s\", \"after\": \"%s\", \"cuda\": \"%s\", "
           "\"state\": %d, \"result\": %d, \"finalize_ms\": %.2f}\n",
           words, what, cudaGetErrorName(status), finalize_state.load(), finalize_result.load(),
           finalize_ns / 1e6);
    fflush(stdout);
    if (status != cudaSuccess)
        exit(1);
}

static void finalize_as(const char *words)
{
    int version = 0;

    if (has(words, "drained"))
        CUPTI(cupti.flush_all(CUPTI_FLUSH_FORCED));
    if (has(words, "direct")) {
        finalize_ns = timed([] { finalize_result = finalize(); });
        finalize_state = 3;
        return;
    }
    if (has(words, "driver")) {
        int (*ask)(int *);
        *(void **)&ask =
            dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), "cuDriverGetVersion");
        CUPTI(cupti.enable_callback(1, subscriber, CUPTI_DOMAIN_DRIVER, CUPTI_DRIVER_GET_VERSION));
        finalize_state = 1;
        std::thread([&] { ask(&version); }).join();
        return;
    }
    CUPTI(enable_domain(1, subscriber, CUPTI_DOMAIN_RUNTIME));
    if (!has(words, "own"))
        CUPTI(enable_domain(1, subscriber, CUPTI_DOMAIN_DRIVER));
    finalize_state = 1;
    if (has(words, "launch"))
        launch(1);
    else if (has(words, "idle"))
        cudaRuntimeGetVersion(&version);
    else
        std::thread([&] { cudaRuntimeGetVersion(&version); }).join();
    for (int i = 0; i < 1000 && finalize_state != 3; i++)
        usleep(1000); /* another thread may have come first */
}

static void work(const char *words, cudaGraphExec_t graph, int *counter, long *expected)
{
    const int n = 20000;

    for (int i = 0; has(words, "eager") && i < n; i++)
        tiny<<<1, 32>>>(counter);
    for (int i = 0; has(words, "graph") && i < n / graph_kernels; i++)
        CHECK(cudaGraphLaunch(graph, 0));
    *expected += 32L * n * (has(words, "eager") + has(words, "graph"));
}

static int leave(const char *words)
{
    int *counter = nullptr;
    int found = 0;
    long expected = 0;

    CHECK(cudaMalloc(&counter, sizeof *counter));
    CHECK(cudaMemset(counter, 0, sizeof *counter));
    cudaGraphExec_t graph = make_graph(counter);
    work(words, graph, counter, &expected);
    stage(words, "plain");
    attach();
    launcher *beside = has(words, "beside") ? new launcher : nullptr;
    work(words, graph, counter, &expected);
    stage(words, "recording");
    disable_all();
    CUPTI(cupti.flush_all(CUPTI_FLUSH_COMPLETE));
    if (has(words, "after")) {
        work(words, graph, counter, &expected);
        stage(words, "disabled");
    }
    if (has(words, "again")) {
        CUPTI(cupti.unsubscribe(subscriber));
        subscribe();
    }
    finalize_as(words);
    stage(words, "finalize");
    for (int i = 0; i < 5; i++)
        work(words, graph, counter, &expected);
    stage(words, "more work");
    delete beside;
    const int rounds = 10;
    measure("finalized", graph, rounds);
    expected += 32L * rounds * replays_a_round * graph_kernels;
    stage(words, "measuring");
    CHECK(cudaMemcpy(&found, counter, sizeof found, cudaMemcpyDeviceToHost));
    printf("{\"case\": \"leave\", \"words\": \"%s\", \"after\": \"all\", \"right\": %s}\n", words,
           found == expected ? "true" : "false");
    return found != expected;
}

/* Nanoseconds a kernel of a graph: until its launch returns, and until the GPU is done. */
static void measure_replays(const char *words, const char *state, cudaGraphExec_t graph)
{
    const int rounds = 40;
    std::vector<double> host, wall;

    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < rounds; i++) {
        const double start = now_ns();
        launch_some(graph, replays_a_round);
        host.push_back(now_ns() - start);
        CHECK(cudaDeviceSynchronize());
        wall.push_back(now_ns() - start);
    }
    std::sort(host.begin(), host.end());
    std::sort(wall.begin(), wall.end());
    const double n = replays_a_round * graph_kernels;
    printf("{\"case\": \"stays\", \"words\": \"%s\", \"state\": \"%s\", \"host_min_ns\": %.0f, "
           "\"host_median_ns\": %.0f, \"wall_min_ns\": %.0f, \"wall_median_ns\": %.0f}\n",
           words, state, host[0] / n, host[rounds / 2] / n, wall[0] / n, wall[rounds / 2] / n);
    fflush(stdout);
}

static void kinds_off(const char *words)
{
    const bool last = has(words, "last");

    if (!last)
        CUPTI(cupti.disable(CUPTI_KIND_CONCURRENT_KERNEL));
    for (const auto &kind : kinds) {
        if (kind.kind != CUPTI_KIND_CONCURRENT_KERNEL)
            CUPTI(cupti.disable(kind.kind));
    }
    if (last)
        CUPTI(cupti.disable(CUPTI_KIND_CONCURRENT_KERNEL));
}

static void switch_off(const char *words)
{
    if (has(words, "other"))
        std::thread([=] { kinds_off(words); }).join();
    else
        kinds_off(words);
}

/* Another thread of the program that replays a graph without a pause, eight launches ahead. */
static std::thread replayer(cudaGraphExec_t graph, std::atomic<bool> *stop)
{
    return std::thread([graph, stop] {
        while (!*stop) {
            launch_some(graph, 8);
            CHECK(cudaDeviceSynchronize());
        }
    });
}

static int stays(const char *words)
{
    cudaGraphExec_t graph = nullptr;
    std::atomic<bool> stop{ false };

    if (!has(words, "early"))
        warm_up();
    if (!has(words, "early") && !has(words, "made")) {
        graph = make_graph(nullptr);
        measure_replays(words, "plain", graph);
    }
    subscribe();
    CUPTI(cupti.register_callbacks(request, complete));
    if (has(words, "one"))
        CUPTI(cupti.enable(CUPTI_KIND_CONCURRENT_KERNEL));
    else
        enable_all();
    warm_up();
    if (has(words, "stream"))
        CHECK(cudaStreamCreate(&replay_stream));
    if (!graph)
        graph = make_graph(nullptr);
    measure_replays(words, "recording", graph);
    std::thread beside;
    if (has(words, "launching"))
        beside = replayer(graph, &stop);
    if (has(words, "queued"))
        launch_some(graph, 8);
    usleep(has(words, "queued") ? 300 : 20000);
    switch_off(words);
    usleep(20000);
    CUPTI(cupti.flush_all(CUPTI_FLUSH_COMPLETE));
    const long before = n_kernels;
    usleep(100000);
    CUPTI(cupti.flush_all(CUPTI_FLUSH_COMPLETE));
    printf("{\"case\": \"stays\", \"words\": \"%s\", \"recorded 20 to 120 ms later\": %ld}\n",
           words, n_kernels - before);
    stop = true;
    if (beside.joinable())
        beside.join();
    measure_replays(words, "off", graph);
    CUPTI(cupti.flush_all(CUPTI_FLUSH_COMPLETE));
    measure_replays(words, "off, flushed", graph);
    enable_all();
    switch_off(words);
    measure_replays(words, "off again, nothing under way", graph);
    enable_all();
    launch_some(graph, 1);
    CHECK(cudaDeviceSynchronize());
    switch_off(words);
    measure_replays(words, "off again, one replay recorded", graph);
    CUPTI(cupti.flush_all(CUPTI_FLUSH_FORCED));
    measure_replays(words, "off, forced flush", graph);
    measure_replays(words, "a new graph", make_graph(nullptr));
    CUPTI(cupti.unsubscribe(subscriber));
    measure_replays(words, "unsubscribed", graph);
    return 0;
}

int main(int argc, char **argv)
{
    int n_devices = 0;

    alarm(30);
    CHECK(cudaGetDeviceCount(&n_devices)); /* initialises the driver, makes no context */
    find_cupti();
    if (argc == 4 && !strcmp(argv[1], "moves"))
        return moves(argv[2], atoi(argv[3]));
    if (argc == 3 && !strcmp(argv[1], "stays"))
        return stays(argv[2]);
    warm_up();
    if (argc == 3 && !strcmp(argv[1], "launches"))
        return launches(atoi(argv[2]));
    if (argc == 2 && !strcmp(argv[1], "inflight"))
        return inflight();
    if (argc == 5 && !strcmp(argv[1], "finalize"))
        return finalize_cycles(!strcmp(argv[2], "exit"), !strcmp(argv[3], "graph"), atoi(argv[4]));
    if (argc == 2 && !strcmp(argv[1], "waits"))
        return waits();
    if (argc == 5 && !strcmp(argv[1], "windows"))
        return windows(argv[2], atoi(argv[3]), atoi(argv[4]));
    if (argc == 3 && !strcmp(argv[1], "leave"))
        return leave(argv[2]);
    fprintf(stderr,
            "usage: window_costs moves idle|busy|launching|graph N | launches N | inflight | "
            "finalize direct|exit eager|graph N | waits | windows same|other|context US N | "
            "leave WORDS | stays WORDS\n");
    return 2;
}
