/*
 * Small kernels in large numbers, for measuring what recording costs a launch and for filling
 * CUPTI's buffers.
 *
 *   launches eager THREADS LAUNCHES ROUNDS   every thread on a stream of its own
 *   launches graph THREADS KERNELS ROUNDS    the same through replays of a graph of 1000 kernels
 *   launches many KERNELS                    replays until so many kernels have run
 *   launches soak WINDOWS                    NVTX ranges "window" of ten kernels each, and memory
 *
 * Prints one JSON object. A round is timed from its first launch to its last (host) and until the
 * GPU has done it (wall); minimum and median over the rounds, in nanoseconds a kernel.
 */
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
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

__global__ void tiny(int *out)
{
    if (out)
        *out = 1;
}

static double now_ns()
{
    using namespace std::chrono;
    return (double)duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

struct round_time {
    double host_ns, wall_ns;
};

static cudaGraphExec_t make_graph()
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < graph_kernels; i++)
        tiny<<<1, 32, 0, stream>>>(nullptr);
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
        tiny<<<1, 32, 0, stream>>>(nullptr);
}

static std::vector<round_time> one_thread(bool graphs, long kernels, int rounds,
                                          std::atomic<int> *waiting)
{
    std::vector<round_time> times;
    cudaStream_t stream;
    cudaGraphExec_t graph = graphs ? make_graph() : nullptr;

    CHECK(cudaStreamCreate(&stream));
    launch(stream, graph, std::min(kernels, 2000L));
    CHECK(cudaStreamSynchronize(stream));
    waiting->fetch_sub(1);
    while (waiting->load() > 0)
        std::this_thread::yield();
    for (int i = 0; i < rounds; i++) {
        const double start = now_ns();
        launch(stream, graph, kernels);
        const double launched = now_ns();
        CHECK(cudaStreamSynchronize(stream));
        times.push_back({ (launched - start) / (double)kernels,
                          (now_ns() - start) / (double)kernels });
    }
    return times;
}

static int measure(bool graphs, int n_threads, long kernels, int rounds)
{
    std::vector<std::thread> threads;
    std::vector<std::vector<round_time>> times((size_t)n_threads);
    std::vector<double> host;
    std::vector<double> wall;
    std::atomic<int> waiting(n_threads);

    CHECK(cudaFree(nullptr));
    for (int i = 0; i < n_threads; i++)
        threads.emplace_back([&, i] { times[i] = one_thread(graphs, kernels, rounds, &waiting); });
    for (auto &thread : threads)
        thread.join();
    for (const auto &mine : times) {
        for (const auto &time : mine) {
            host.push_back(time.host_ns);
            wall.push_back(time.wall_ns);
        }
    }
    std::sort(host.begin(), host.end());
    std::sort(wall.begin(), wall.end());
    printf("{\"mode\": \"%s\", \"threads\": %d, \"kernels_a_round\": %ld, \"rounds\": %d, "
           "\"host_min_ns\": %.1f, \"host_median_ns\": %.1f, \"wall_min_ns\": %.1f, "
           "\"wall_median_ns\": %.1f}\n",
           graphs ? "graph" : "eager", n_threads, kernels, rounds, host[0], host[host.size() / 2],
           wall[0], wall[wall.size() / 2]);
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
            tiny<<<1, 32>>>(nullptr);
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

int main(int argc, char **argv)
{
    if (argc == 5 && !strcmp(argv[1], "eager"))
        return measure(false, atoi(argv[2]), atol(argv[3]), atoi(argv[4]));
    if (argc == 5 && !strcmp(argv[1], "graph"))
        return measure(true, atoi(argv[2]), atol(argv[3]), atoi(argv[4]));
    if (argc == 3 && !strcmp(argv[1], "many"))
        return many(atol(argv[2]));
    if (argc == 3 && !strcmp(argv[1], "soak"))
        return soak(atoi(argv[2]));
    fprintf(stderr, "usage: launches eager|graph THREADS KERNELS ROUNDS | many KERNELS | soak N\n");
    return 2;
}
