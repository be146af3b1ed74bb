// A program in C++ on libtorch without a line about profiling: forward passes of a small network.
//
//   forward [N]      N passes, default 10; prints a sum
//   forward serve    for each line "NAME N" on stdin: N steps of 100 passes, timed [s], as JSON
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <torch/torch.h>

static torch::Tensor passes(torch::nn::Sequential &model, torch::Tensor x, int n)
{
    for (int i = 0; i < n; i++)
        x = model->forward(x);
    return x;
}

static void steps(torch::nn::Sequential &model, const torch::Tensor &x, int n)
{
    printf("{\"s\": [");
    for (int i = 0; i < n; i++) {
        const auto start = std::chrono::steady_clock::now();

        passes(model, x, 100);
        torch::cuda::synchronize();
        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
        printf("%s%.9f", i ? ", " : "", time.count());
    }
    printf("]}\n");
    fflush(stdout);
}

static int serve(torch::nn::Sequential &model, const torch::Tensor &x)
{
    char line[128];
    int n;

    passes(model, x, 100);
    printf("{\"ready\": true}\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "%*s %d", &n) != 1)
            return 2;
        steps(model, x, n);
    }
    return 0;
}

int main(int argc, char **argv)
{
    torch::NoGradGuard no_grad;
    auto model = torch::nn::Sequential(torch::nn::Linear(512, 512), torch::nn::ReLU(),
                                       torch::nn::Linear(512, 512));
    model->to(torch::kCUDA);
    const auto x = torch::randn({ 64, 512 }, torch::kCUDA);

    if (argc > 1 && !strcmp(argv[1], "serve"))
        return serve(model, x);
    printf("%f\n", passes(model, x, argc > 1 ? atoi(argv[1]) : 10).sum().item<float>());
    return 0;
}
