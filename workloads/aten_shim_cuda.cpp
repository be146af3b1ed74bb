#include "aten_shim_impl.h"

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>

using namespace kr_shim;
namespace allocator = c10::cuda::CUDACachingAllocator;

struct kr_stream {
    c10::cuda::CUDAStream stream;
};

struct kr_graph {
    at::cuda::CUDAGraph graph;
    bool capturing = false;

    ~kr_graph()
    {
        abandon();
    }

    /* A stream left capturing would refuse all that comes after. */
    void abandon() noexcept
    {
        if (!capturing)
            return;
        capturing = false;
        try {
            graph.capture_end();
        } catch (...) {
            /* What broke the capture has been recorded where it happened. */
        }
    }
};

/* ---- the device ---- */

std::string kr_shim::cuda_name(at::Device device)
{
    return at::cuda::getDeviceProperties(device.index())->name;
}

void kr_shim::cuda_synchronize()
{
    c10::cuda::device_synchronize();
}

size_t kr_at_cuda_count(void)
{
    return size_t(std::max(0, int(c10::cuda::device_count())));
}

bool kr_at_memory(kr_at *at, struct kr_at_memory *out)
{
    return act(at, __func__, [&] {
        need_cuda(at);

        const auto total = size_t(c10::CachingAllocator::StatType::AGGREGATE);
        const auto stats = allocator::getDeviceStats(at->device.index());
        const auto device = allocator::get()->getMemoryInfo(at->device.index());

        out->allocated_bytes = uint64_t(stats.allocated_bytes[total].current);
        out->peak_bytes = uint64_t(stats.allocated_bytes[total].peak);
        out->reserved_bytes = uint64_t(stats.reserved_bytes[total].current);
        out->free_bytes = device.first;
        out->total_bytes = device.second;
    });
}

bool kr_at_memory_reset_peak(kr_at *at)
{
    return act(at, __func__, [&] {
        need_cuda(at);
        allocator::resetPeakStats(at->device.index());
    });
}

/* ---- streams ---- */

kr_stream *kr_at_stream(kr_at *at)
{
    kr_stream *s = nullptr;

    act(at, __func__, [&] {
        need_cuda(at);
        s = new kr_stream{ c10::cuda::getStreamFromPool(false, at->device.index()) };
    });
    return s;
}

bool kr_at_use_stream(kr_at *at, kr_stream *s)
{
    return act(at, __func__, [&] {
        need_cuda(at);
        c10::cuda::setCurrentCUDAStream(s ? s->stream
                                          : c10::cuda::getDefaultCUDAStream(at->device.index()));
    });
}

bool kr_at_wait_stream(kr_at *at, kr_stream *s)
{
    return act(at, __func__, [&] {
        at::cuda::CUDAEvent event;

        need_cuda(at);
        event.record(s ? s->stream : c10::cuda::getDefaultCUDAStream(at->device.index()));
        event.block(c10::cuda::getCurrentCUDAStream(at->device.index()));
    });
}

bool kr_at_synchronize_stream(kr_at *at, kr_stream *s)
{
    return act(at, __func__, [&] {
        need_cuda(at);
        (s ? s->stream : c10::cuda::getDefaultCUDAStream(at->device.index())).synchronize();
    });
}

void kr_stream_free(kr_stream *s)
{
    delete s;
}

/* ---- graphs ---- */

kr_graph *kr_at_graph_begin(kr_at *at)
{
    kr_graph *g = nullptr;
    const bool begun = act(at, __func__, [&] {
        need_cuda(at);
        g = new kr_graph;
        g->graph.capture_begin();
        g->capturing = true;
    });

    if (begun)
        return g;
    kr_graph_free(g);
    return nullptr;
}

bool kr_at_graph_end(kr_at *at, kr_graph *g)
{
    const bool ended = act(at, __func__, [&] {
        if (!g || !g->capturing)
            throw refusal(KR_EARG, "no capture has begun");
        g->capturing = false;
        g->graph.capture_end();
    });

    if (g)
        g->abandon();
    return ended;
}

bool kr_at_graph_replay(kr_at *at, kr_graph *g)
{
    return act(at, __func__, [&] {
        if (!g)
            throw refusal(KR_EARG, "the graph is NULL");
        g->graph.replay();
    });
}

void kr_graph_free(kr_graph *g)
{
    delete g;
}
