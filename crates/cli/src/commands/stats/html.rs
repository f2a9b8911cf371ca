//! `fpstore stats --html`: the page, whole under its name or not at all.

use std::io::Write;

use fpstore::plan::{Budget, SchemeEstimate, SchemePlan};
use fpstore::profile::Statistics;
use fpstore_report::doctor::{PageOptions, page};

use crate::output::sink::Sink;
use crate::session::costs;

pub(crate) fn write(
    mut out: Sink,
    statistics: &Statistics,
    title: &str,
    budget: Budget,
) -> anyhow::Result<()> {
    let (plan, now) = schemes(statistics, budget)?;
    let options = PageOptions { title, plan: plan.as_ref(), now: now.as_ref() };
    out.write_all(page(statistics, &options).as_bytes())?;
    out.finish()
}

/// The plan for these fingerprints, and the estimate of the tables as they are.
fn schemes(
    statistics: &Statistics,
    budget: Budget,
) -> anyhow::Result<(Option<SchemePlan>, Option<SchemeEstimate>)> {
    if statistics.fingerprint_count == 0 {
        return Ok((None, None));
    }
    let request = statistics.plan_request().budget(budget).costs(costs::of_this_machine());
    let plan = request.plan()?;
    let now = match statistics.scheme() {
        Ok(scheme) if scheme != plan.chosen().scheme => {
            Some(request.estimate("these tables", &scheme)?)
        }
        _ => None,
    };
    Ok((Some(plan), now))
}
