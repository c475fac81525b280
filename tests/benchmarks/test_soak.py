"""The slope of memory over time."""

from benchmarks.soak import Growth, Sample, growth


def test_growth_is_the_slope_after_the_warm_up() -> None:
    steep = [Sample(seconds, "flower", 100 + seconds / 360) for seconds in range(0, 3601, 600)]
    warming = [Sample(seconds, "api", 130.0 if seconds else 50.0) for seconds in range(0, 3601, 600)]

    flower, api = growth([*steep, *warming])

    assert flower._replace(mb_per_hour=round(flower.mb_per_hour, 6)) == Growth("flower", 100, 110, 110, 10.0)
    assert api._replace(mb_per_hour=round(api.mb_per_hour, 6)) == Growth("api", 50, 130, 130, 0.0)
