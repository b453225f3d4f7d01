-- What the dearest run of a target's last evaluation would cost at this price; null where no run said what it used.
with last_evaluation as (
    select evaluation_id
    from evaluations
    where suite = $suite and target = $target
    order by coalesce(finished_at, started_at) desc, started_at desc, stored_at desc, evaluation_id desc
    limit 1
)

select max(input_tokens * $input_per_million::double + output_tokens * $output_per_million::double) / 1000000 as largest
from run_outputs
inner join last_evaluation using (evaluation_id)
