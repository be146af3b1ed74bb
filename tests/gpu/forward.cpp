// A program in C++ on libtorch without a line about profiling: N forward passes of a small network.
#include <cstdio>
#include <cstdlib>

#include <torch/torch.h>

int main(int argc, char **argv)
{
    const int steps = argc > 1 ? atoi(argv[1]) : 10;
    torch::NoGradGuard no_grad;
    auto model = torch::nn::Sequential(torch::nn::Linear(512, 512), torch::nn::ReLU(),
                                       torch::nn::Linear(512, 512));
    model->to(torch::kCUDA);
    auto x = torch::randn({ 64, 512 }, torch::kCUDA);
    for (int i = 0; i < steps; i++)
        x = model->forward(x);
    printf("%f\n", x.sum().item<float>());
    return 0;
}
