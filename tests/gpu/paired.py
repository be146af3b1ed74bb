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


def least(visit):
    """The least time of a visit, where it kept several, else its value."""
    return visit.get("min", visit["value"])


def together(*cells, what=lambda visit: visit["value"]):
    """Tuples of the values of those turns in which all cells were visited."""
    by_turn = [{visit["turn"]: what(visit) for visit in cell} for cell in cells]
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


def ratios(cell, base):
    """cell / base, turn by turn."""
    return [x / y for x, y in together(cell, base)]


def differences(cell, base):
    """cell - base, turn by turn."""
    return [x - y for x, y in together(cell, base)]


def ratio(cell, base):
    """Median of cell / base in the same turn: (value, low, high) or None."""
    return estimate(ratios(cell, base), statistics.median)


def difference(cell, base):
    """Median of cell - base in the same turn: (value, low, high) or None."""
    return estimate(differences(cell, base), statistics.median)


def least_ratio(cell, base):
    """Least time of cell / least of base; None without a turn that has both.

    Other turns do not count: the more turns, the lower the least of them.
    """
    pairs = together(cell, base, what=least)
    return min(x for x, _ in pairs) / min(y for _, y in pairs) if pairs else None


def adds(other, base):
    """Whether other clearly takes longer than base: the whole interval of the difference says so."""
    found = difference(other, base)
    return found is not None and found[1] > 0


def added_ratio(cell, other, base):
    """What cell adds to base, as a multiple of what other adds: (value, low, high).

    None when other does not clearly add anything, or in fewer than five turns.
    """
    def statistic(sample):
        added = statistics.median(y - z for _, y, z in sample)
        return statistics.median(x - z for x, _, z in sample) / added if added > 0 else math.inf

    return estimate(together(cell, other, base), statistic) if adds(other, base) else None


def least_added_ratio(cell, other, base):
    """The same by the least times of the common turns, without an interval."""
    if not adds(other, base):
        return None
    x, y, z = (min(column) for column in zip(*together(cell, other, base, what=least)))
    return (x - z) / (y - z) if y > z else None
