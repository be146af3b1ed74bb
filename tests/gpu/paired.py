"""Statistics of measurements that took turns; standard library only.

A cell of a table is a list of visits, at most one a turn: {"turn": N, "value": X, ...}. Columns
that are compared were visited in the same turn, within a second or so of each other, so that what
the machine did then is in both: the difference or ratio of the two is taken first, the median
after.
"""
import math
import random
import statistics

RESAMPLES = 999


def together(*cells):
    """Tuples of the values of those turns in which all cells were visited."""
    by_turn = [{visit["turn"]: visit["value"] for visit in cell} for cell in cells]
    turns = set(by_turn[0]).intersection(*by_turn[1:])
    return [tuple(values[turn] for values in by_turn) for turn in sorted(turns)]


def interval(sample, statistic):
    """95 % interval of a statistic by the percentile bootstrap: (low, high). Seeded."""
    chance = random.Random(1)
    found = sorted(statistic(chance.choices(sample, k=len(sample))) for _ in range(RESAMPLES))
    cut = round(RESAMPLES * 0.025)
    return found[cut], found[-1 - cut]


def estimate(sample, statistic):
    """(value, low, high), None for fewer than five turns: their interval would say nothing."""
    if len(sample) < 5:
        return None
    return (statistic(sample),) + interval(sample, statistic)


def ratio(cell, base):
    """Median of cell / base in the same turn: (value, low, high) or None."""
    return estimate([x / y for x, y in together(cell, base)], statistics.median)


def difference(cell, base):
    """Median of cell - base in the same turn: (value, low, high) or None."""
    return estimate([x - y for x, y in together(cell, base)], statistics.median)


def added_ratio(cell, other, base):
    """What cell adds to base, as a multiple of what other adds: (value, low, high).

    None when other does not clearly add anything, or in fewer than five turns.
    """
    def statistic(sample):
        added = statistics.median(y - z for _, y, z in sample)
        return statistics.median(x - z for x, _, z in sample) / added if added > 0 else math.inf

    clear = difference(other, base)
    if clear is None or clear[1] <= 0:
        return None
    return estimate(together(cell, other, base), statistic)
