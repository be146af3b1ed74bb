#!/usr/bin/env python3
"""The convolutional networks of workloads/ against torchvision's, with the same weights.

Usage: torchvision_models.py DUMP_MODEL

DUMP_MODEL (tests/workloads/dump_model.c) writes weights, images and logits; torchvision's networks
get the weights in the order of their modules and must give the same logits to 1e-5 of their size.
Exits with 77, skipped, where torchvision is not installed.
"""
import sys

try:
    import torch
    import torchvision
except ImportError as missing:
    print("skipped: %s" % missing)
    sys.exit(77)

from dumped_model import Weights, dumped

TOLERANCE = 1e-5
BATCH = 2


def fill(network, weights):
    """Convolution, then the scale, shift, mean and variance of its norm; the classifier last."""
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            weights.give(module.weight, module.bias, module.running_mean, module.running_var)
        elif isinstance(module, (torch.nn.Conv2d, torch.nn.Linear)):
            weights.give_layer(module)


def main(program):
    wrong = 0
    for name, model in (("resnet50", torchvision.models.resnet50),
                        ("mobilenet", torchvision.models.mobilenet_v2)):
        tensors, (logits,) = dumped(program, name, "infer", "imagenet", 1, BATCH)
        weights = Weights(tensors[1:])
        network = model().eval()
        fill(network, weights)
        with torch.no_grad():
            expected = network(tensors[0].float()).double()
        error = ((logits - expected).norm() / expected.norm()).item()
        good = error <= TOLERANCE and not weights.left
        print("%s: %s, error %.1e" % (name, "equal" if good else "NOT EQUAL", error))
        wrong += not good
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
