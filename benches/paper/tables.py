"""Tables, prefix bits and matches of a probe: section 3 of the paper, next to the planner's choice."""

from model import schemes

# 2^34 fingerprints: the number for which the paper chose its tables.
LOG2_COUNT = 34
# Schemes of this project with the same masks as the paper: 4, 10, 16 and 20 tables.
PAPER = ("blocks-4", "choose-5", "nested-16", "choose-6")


def row(name, scheme, count):
    """A row: the scheme, the expected prefix matches of a query, and the prediction of the planner."""
    bits = [int(mask, 16).bit_count() for mask in scheme["masks"]]
    asked = [(b, prefixes_within(b, r)) for b, r in zip(bits, scheme["radii"]) if r is not None]
    met = sum(prefixes * count / 2 ** b for b, prefixes in asked)
    return [name, f"{scheme['tables']:.0f}", span(bits),
            span([r for r in scheme["radii"] if r is not None]),
            f"{sum(prefixes for _, prefixes in asked):,}".replace(",", " "),
            short(count / 2 ** min(bits)), short(met), short(scheme["candidates"]),
            f"{scheme['bytes_per_fingerprint']:.1f}",
            f"{scheme['hot_micros']:.3g}", f"{scheme['cold_pages']:.0f}",
            "yes" if scheme["on_frontier"] else ""]


def prefixes_within(bits, radius):
    """Number of prefixes of `bits` bits within a radius of a prefix."""
    total, choose = 0, 1
    for flips in range(radius + 1):
        total += choose
        choose = choose * (bits - flips) // (flips + 1)
    return total


def span(values):
    low, high = min(values), max(values)
    return str(low) if low == high else f"{low} to {high}"


def short(value):
    if value >= 1e4:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def report(program):
    """Prints the designs of the paper and the frontier of the planner for 2^34 fingerprints."""
    count = 1 << LOG2_COUNT
    planned = schemes(program, count)
    names = list(PAPER)
    names += [name for name, each in planned.items() if each["on_frontier"] and name not in names]
    print(f"\n## Tables, for 2^{LOG2_COUNT} fingerprints and k = 3\n")
    print("| scheme | tables | prefix bits | radius | prefixes asked | values of a prefix |"
          " values of all | tails compared | B each | hot us | cold pages | frontier |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|")
    for name in names:
        print("| " + " | ".join(row(name, planned[name], count)) + " |")
