-- Two runs of a case are copies when they share a reply's id, when one entry of a cassette served both, or when they put
-- out the same where the same says something: at temperature 0, or at an unknown one where it is long, because short
-- answers repeat by chance.
with scoring as (
    select evaluation_id
    from scorings
    where scoring_id = $scoring_id
    limit 1
),

outputs as (
    select
        run_outputs.case_hash,
        run_outputs.run_index,
        run_outputs.response_id,
        run_outputs.served_by,
        case
            when evaluations.temperature = 0 then run_outputs.output_digest
            when evaluations.temperature is null and run_outputs.output_characters >= $telling_characters
                then run_outputs.output_digest
        end as digest
    from run_outputs
    inner join scoring using (evaluation_id)
    inner join evaluations using (evaluation_id)
),

-- Only runs that share something are looked at any further: most evaluations have none.
repeated_replies as (
    select case_hash, response_id
    from outputs
    where response_id is not null
    group by case_hash, response_id
    having count(distinct run_index) > 1
),

repeated_entries as (
    select case_hash, served_by
    from outputs
    where served_by is not null
    group by case_hash, served_by
    having count(distinct run_index) > 1
),

repeated_digests as (
    select case_hash, digest
    from outputs
    where digest is not null
    group by case_hash, digest
    having count(distinct run_index) > 1
),

alike as (
    select distinct
        outputs.case_hash,
        outputs.run_index,
        coalesce(repeated_replies.response_id, 'none of run ' || outputs.run_index) as reply,
        coalesce(repeated_entries.served_by, 'none of run ' || outputs.run_index) as entry,
        coalesce(repeated_digests.digest, 'none of run ' || outputs.run_index) as digest
    from outputs
    left join repeated_replies using (case_hash, response_id)
    left join repeated_entries using (case_hash, served_by)
    left join repeated_digests using (case_hash, digest)
    where
        repeated_replies.response_id is not null
        or repeated_entries.served_by is not null
        or repeated_digests.digest is not null
),

-- The first run of each group, handed on from those that share a reply to those that share an entry or an output, and
-- round again.
by_reply as (
    select *, min(run_index) over (partition by case_hash, reply) as first_run
    from alike
),

by_entry as (
    select * replace (min(first_run) over (partition by case_hash, entry) as first_run)
    from by_reply
),

by_digest as (
    select * replace (min(first_run) over (partition by case_hash, digest) as first_run)
    from by_entry
),

by_reply_again as (
    select * replace (min(first_run) over (partition by case_hash, reply) as first_run)
    from by_digest
),

by_entry_again as (
    select * replace (min(first_run) over (partition by case_hash, entry) as first_run)
    from by_reply_again
),

groups as (
    select
        case_hash,
        run_index,
        min(first_run) over (partition by case_hash, digest) as first_run
    from by_entry_again
),

scored as (
    select
        scores.case_hash,
        scores.metric,
        scores.passed,
        row_number() over (
            partition by scores.case_hash, scores.metric, groups.first_run order by scores.run_index
        ) as place
    from scores
    inner join groups using (case_hash, run_index)
    where scores.scoring_id = $scoring_id and scores.passed is not null
)

select
    case_hash,
    metric,
    count(*) as copied,
    count(*) filter (where passed) as copied_passes
from scored
where place > 1
group by case_hash, metric
order by case_hash, metric
