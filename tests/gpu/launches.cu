/*
 * Small kernels in large numbers, for measuring what recording costs a launch and for filling
 * CUPTI's buffers.
 *
 *   launches eager THREADS LAUNCHES ROUNDS   every thread on a stream of its own
 *   launches graph THREADS KERNELS ROUNDS    the same through replays of a graph of 1000 kernels
 *   launches serve                           the same for each line "eager|graph N N N" on stdin
 *   launches many KERNELS                    replays until so many kernels have run
 *   launches soak WINDOWS                    NVTX ranges "window" of ten kernels each, and memory
 *   launches copies COUNT                    so many copies of each way that one device knows
 *
 * Prints one JSON object for each. A round begins on all threads at once and is timed until the
 * last of them has launched its part (host) and until the GPU has done all of it (wall): one number
 * a round, in nanoseconds a kernel of one thread. KREACH_PIN=1 keeps each thread on a CPU of its
 * own, where there are more CPUs than threads; CUDA's threads and libkreach's stay free.
 *
 * Built as a shared library it gives launches_run() to a Python process.
 */
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t status_ = (call);                                                              \
        if (status_ != cudaSuccess) {                                                              \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status_));                       \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static const int graph_kernels = 1000;
static const long warmup_kernels = 2000;

__global__ void tiny(int *out)
{
    if (out)
        *out = 1;
}

static void launch_tiny(cudaStream_t stream)
{
    int *out = nullptr;
    void *arguments[] = { &out };

    CHECK(cudaLaunchKernel((const void *)tiny, dim3(1), dim3(32), arguments, 0, stream));
}

static double now_ns()
{
    using namespace std::chrono;
    return (double)duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

struct shape {
    bool graphs;
    int threads;
    long kernels; /* a round and thread */
    int rounds;
};

struct round_time {
    double start, launched, done; /* [ns] */
};

static cudaGraphExec_t make_graph()
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < graph_kernels; i++)
        launch_tiny(stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    return exec;
}

static void launch(cudaStream_t stream, cudaGraphExec_t graph, long kernels)
{
    if (graph) {
        for (long i = 0; i < kernels; i += graph_kernels)
            CHECK(cudaGraphLaunch(graph, stream));
        return;
    }
    for (long i = 0; i < kernels; i++)
        launch_tiny(stream);
}

/* Lets threads go on together, again and again. */
class Gate
{
  public:
    explicit Gate(int threads) : threads(threads)
    {
    }

    void pass()
    {
        const int mine = turn.load();

        if (arrived.fetch_add(1) + 1 == threads) {
            arrived.store(0);
            turn.fetch_add(1);
            return;
        }
        while (turn.load() == mine)
            std::this_thread::yield();
    }

  private:
    const int threads;
    std::atomic<int> arrived{ 0 };
    std::atomic<int> turn{ 0 };
};

/* From the last CPU downwards: the first ones serve interrupts. */
static void pin(int thread, int threads)
{
    const char *wanted = getenv("KREACH_PIN");
    cpu_set_t allowed;
    cpu_set_t one;

    if (!wanted || strcmp(wanted, "1") != 0 ||
        sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) <= threads)
        return;
    CPU_ZERO(&one);
    for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--) {
        if (CPU_ISSET(cpu, &allowed) && thread-- == 0) {
            CPU_SET(cpu, &one);
            break;
        }
    }
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

static std::vector<round_time> one_thread(const struct shape *shape, int number, Gate *gate)
{
    std::vector<round_time> times((size_t)shape->rounds);
    cudaStream_t stream;

    pin(number, shape->threads);
    cudaGraphExec_t graph = shape->graphs ? make_graph() : nullptr;
    CHECK(cudaStreamCreate(&stream));
    launch(stream, graph, std::min(shape->kernels, warmup_kernels));
    CHECK(cudaStreamSynchronize(stream));
    for (round_time &time : times) {
        gate->pass();
        time.start = now_ns();
        launch(stream, graph, shape->kernels);
        time.launched = now_ns();
        CHECK(cudaStreamSynchronize(stream));
        time.done = now_ns();
    }
    if (graph)
        CHECK(cudaGraphExecDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    return times;
}

static std::string number_list(const std::vector<double> &numbers)
{
    std::string text;
    char number[32];

    for (const double each : numbers) {
        snprintf(number, sizeof number, "%s%.1f", text.empty() ? "" : ", ", each);
        text += number;
    }
    return "[" + text + "]";
}

static std::string measure(const struct shape *shape)
{
    std::vector<std::thread> threads;
    std::vector<std::vector<round_time>> times((size_t)shape->threads);
    std::vector<double> host;
    std::vector<double> wall;
    Gate gate(shape->threads);

    CHECK(cudaFree(nullptr));
    for (int i = 0; i < shape->threads; i++)
        threads.emplace_back([&, i] { times[(size_t)i] = one_thread(shape, i, &gate); });
    for (auto &thread : threads)
        thread.join();
    for (size_t round = 0; round < (size_t)shape->rounds; round++) {
        round_time all = times[0][round];
        for (const auto &mine : times) {
            all.start = std::min(all.start, mine[round].start);
            all.launched = std::max(all.launched, mine[round].launched);
            all.done = std::max(all.done, mine[round].done);
        }
        host.push_back((all.launched - all.start) / (double)shape->kernels);
        wall.push_back((all.done - all.start) / (double)shape->kernels);
    }
    return std::string("{\"mode\": \"") + (shape->graphs ? "graph" : "eager") +
           "\", \"threads\": " + std::to_string(shape->threads) +
           ", \"kernels\": " + std::to_string(shape->kernels) +
           ", \"host_ns\": " + number_list(host) + ", \"wall_ns\": " + number_list(wall) + "}";
}

static bool parse_shape(const char *text, struct shape *out)
{
    char mode[8];
    char end;

    if (sscanf(text, "%7s %d %ld %d %c", mode, &out->threads, &out->kernels, &out->rounds, &end) !=
        4)
        return false;
    out->graphs = !strcmp(mode, "graph");
    return (out->graphs || !strcmp(mode, "eager")) && out->threads > 0 && out->threads <= 1024 &&
           out->kernels > 0 && out->rounds > 0 && out->rounds <= 100000;
}

/*
 * Does what a line "eager|graph THREADS KERNELS ROUNDS" asks for and returns the JSON object, which
 * stays valid until the next call; NULL when the line is not one.
 */
extern "C" __attribute__((visibility("default"))) const char *launches_run(const char *line)
{
    static std::string reply;
    struct shape shape;

    if (!parse_shape(line, &shape))
        return nullptr;
    reply = measure(&shape);
    return reply.c_str();
}

static int serve()
{
    char line[128];

    CHECK(cudaFree(nullptr));
    printf("{\"ready\": true}\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        const char *reply = launches_run(line);

        if (!reply) {
            fprintf(stderr, "launches: no such work: %s", line);
            return 2;
        }
        puts(reply);
        fflush(stdout);
    }
    return 0;
}

static int many(long kernels)
{
    cudaStream_t stream;
    cudaGraphExec_t graph = make_graph();
    long done = 0;
    const double start = now_ns();

    CHECK(cudaStreamCreate(&stream));
    while (done < kernels) {
        launch(stream, graph, 100 * graph_kernels);
        done += 100 * graph_kernels;
        CHECK(cudaStreamSynchronize(stream));
    }
    printf("{\"mode\": \"many\", \"kernels\": %ld, \"seconds\": %.3f}\n", done,
           (now_ns() - start) / 1e9);
    return 0;
}

static long resident_kib()
{
    long size = 0;
    long resident = 0;
    FILE *in = fopen("/proc/self/statm", "r");

    if (!in || fscanf(in, "%ld %ld", &size, &resident) != 2)
        exit(1);
    fclose(in);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static int soak(int windows)
{
    long early = 0;

    for (int i = 0; i < windows; i++) {
        nvtxRangePushA("window");
        for (int k = 0; k < 10; k++)
            launch_tiny(nullptr);
        CHECK(cudaDeviceSynchronize());
        nvtxRangePop();
        usleep(500);
        if (i == windows / 10)
            early = resident_kib();
    }
    printf("{\"mode\": \"soak\", \"windows\": %d, \"kernels\": %d, \"early_kib\": %ld, "
           "\"late_kib\": %ld}\n",
           windows, windows * 10, early, resident_kib());
    return 0;
}

#define DRIVER(name, types, ...)                                                                   \
    do {                                                                                           \
        int(*call_) types;                                                                         \
        *(void **)&call_ = dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);                          \
        if (!call_ || call_(__VA_ARGS__) != 0) {                                                   \
            fprintf(stderr, "launches: %s failed\n", name);                                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* Within the device and to the host, by the calls for copies between devices too: from the device
   to itself, and from one of its contexts to another. */
static int copies(int count)
{
    const size_t bytes = 4096;
    char host[4096] = { 0 };
    char *from = nullptr;
    char *to = nullptr;
    void *first = nullptr;
    void *second = nullptr;
    void *popped = nullptr;
    unsigned long long there = 0;

    CHECK(cudaMalloc(&from, bytes));
    CHECK(cudaMalloc(&to, bytes));
    launch_tiny(nullptr);
    DRIVER("cuCtxGetCurrent", (void **), &first);
    DRIVER("cuCtxCreate_v2", (void **, unsigned, int), &second, 0, 0);
    DRIVER("cuMemAlloc_v2", (unsigned long long *, size_t), &there, bytes);
    DRIVER("cuCtxPopCurrent_v2", (void **), &popped);
    for (int i = 0; i < count; i++) {
        CHECK(cudaMemcpy(from, host, bytes, cudaMemcpyHostToDevice));
        CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, nullptr));
        CHECK(cudaMemcpyPeerAsync(to, 0, from, 0, bytes, nullptr));
        DRIVER("cuMemcpyPeerAsync",
               (unsigned long long, void *, unsigned long long, void *, size_t, void *), there,
               second, (unsigned long long)(uintptr_t)from, first, bytes, nullptr);
    }
    CHECK(cudaDeviceSynchronize());
    printf("{\"mode\": \"copies\", \"to device\": %d, \"within\": %d, \"to itself\": %d, "
           "\"between contexts\": %d}\n",
           count, count, count, count);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 5) {
        const std::string line =
            std::string(argv[1]) + " " + argv[2] + " " + argv[3] + " " + argv[4];
        const char *reply = launches_run(line.c_str());

        if (reply)
            return puts(reply) < 0;
    }
    if (argc == 2 && !strcmp(argv[1], "serve"))
        return serve();
    if (argc == 3 && !strcmp(argv[1], "many"))
        return many(atol(argv[2]));
    if (argc == 3 && !strcmp(argv[1], "soak"))
        return soak(atoi(argv[2]));
    if (argc == 3 && !strcmp(argv[1], "copies"))
        return copies(atoi(argv[2]));
    fprintf(stderr, "usage: launches eager|graph THREADS KERNELS ROUNDS | serve | many KERNELS | "
                    "soak N | copies N\n");
    return 2;
}
