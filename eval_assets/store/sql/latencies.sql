-- Nearest rank: ascending, index floor(n * p / 100), at most n - 1.
with known as (
    select
        round(latency_s * 1e9)::bigint as latency_ns,
        error is not null as errored
    from run_outputs
    where evaluation_id = $evaluation_id and latency_s is not null
),

ranked as (
    select
        latency_ns,
        errored,
        row_number() over (order by latency_ns) - 1 as place,
        count(*) over () as n,
        row_number() over (partition by errored order by latency_ns) - 1 as place_alike,
        count(*) over (partition by errored) as n_alike
    from known
)

select
    max(latency_ns) filter (where place = least(n * 50 // 100, n - 1)) as p50,
    max(latency_ns) filter (where place = least(n * 95 // 100, n - 1)) as p95,
    max(latency_ns) filter (where errored and place_alike = least(n_alike * 50 // 100, n_alike - 1)) as errored_p50,
    max(latency_ns) filter (where errored and place_alike = least(n_alike * 95 // 100, n_alike - 1)) as errored_p95
from ranked
