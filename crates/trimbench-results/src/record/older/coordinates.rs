//! Where a figure of an older record stands in its family: formats up to 3 have it in ids and
//! titles only. Nobody else parses these.

use MetricAxis::{
    After, Beside, Buffering, Chunk, Data, Over, Pace, Policy, Quantile, Rate, Side, Size, State,
    System, Trimmed, Trims, View, Way, Written,
};

use crate::metric::{Coordinates, MetricAxis};
use crate::number::count;

/// What was measured in a pass of `recovery`, and how titles call it.
const WRITES: &str = "sequential writes";
const SHARE_OF_FRESH: &str = "as a share of fresh";
const PASSES: [(&str, &str); 5] = [
    ("fresh", "fresh"),
    ("fragmented", "fragmented"),
    ("self-healed", "after a second pass"),
    ("trimmed", "fragmented, then trimmed"),
    ("copied", "after a large file was copied and deleted"),
];

/// What `steady-state` measures with each trimmed share, but for percentiles.
const OF_SHARE: [&str; 5] = [
    "steady-iops",
    "steady-throughput",
    "write-amplification",
    "rounds-to-steady",
    "amplification-drift",
];

/// The coordinates of the figure `id` of a method; `None` if it belongs to no family.
pub(super) fn coordinates(method: &str, id: &str, title: &str) -> Option<Coordinates> {
    match method {
        "policy" => under(Policy, id, title),
        "kernels" => under(System, id, title),
        "postmark" => side(id, title),
        "settle" => plane(id, title),
        "delete-stall" => deletion(id, title),
        "trim-sweep" => sweep(id, title),
        "idle-trim" => way(id, title),
        "recovery" => pass(id),
        "steady-state" => share(id, title),
        "latency-under-load" => load(id, title),
        "replay" => trace(id, title),
        _ => None,
    }
}

/// `MEASURE-under-PLACE`.
fn under(axis: MetricAxis, id: &str, title: &str) -> Option<Coordinates> {
    let (measure, place) = id.split_once("-under-")?;
    let (words, _) = title.split_once(", under ")?;
    Some(Coordinates::of_measure(measure, words).at(axis, place))
}

/// `MEASURE-SIDE-BUFFERING`.
fn side(id: &str, title: &str) -> Option<Coordinates> {
    let (rest, buffering) = id.rsplit_once('-')?;
    let (measure, side) = rest.rsplit_once('-')?;
    let is_known = ["buffered", "unbuffered"].contains(&buffering)
        && ["nodiscard", "discard", "diff"].contains(&side);
    let (words, _) = title.rsplit_once(", ").filter(|_| is_known)?;
    Some(Coordinates::of_measure(measure, words).at(Side, side).at(Buffering, buffering))
}

/// `settling-trimmed-PERCENT-written-PERCENT`.
fn plane(id: &str, title: &str) -> Option<Coordinates> {
    let (trimmed, written) = id.strip_prefix("settling-trimmed-")?.split_once("-written-")?;
    let (words, _) = title.split_once(", ")?;
    let point = Coordinates::of_measure("settling", words)
        .called(Trimmed, trimmed, format!("{trimmed} % trimmed"))
        .called(Written, written, format!("{written} % written before"));
    Some(point)
}

/// `largest-MEASURE`, `deletion-rate-in-chunks-of-SIZE`, `VIEW-PERCENTILE`,
/// `VIEW-PERCENTILE-placebo`.
fn deletion(id: &str, title: &str) -> Option<Coordinates> {
    if id.starts_with("largest-") {
        let (words, deleted) = title.rsplit_once(", ")?;
        let size = deleted.strip_suffix(" deleted")?;
        return Some(Coordinates::of_measure(id, words).called(Size, size, deleted));
    }
    if let Some(chunk) = id.strip_prefix("deletion-rate-in-chunks-of-") {
        let rate = "highest rate of deletion within the limit";
        let rate = Coordinates::of_measure("deletion-rate", rate);
        return Some(rate.called(Chunk, chunk, format!("in chunks of {chunk}")));
    }
    let (beside, words) = match id {
        "highest-deletion-rate-response" => ("highest-deletion-rate", "at that rate"),
        "deletion-rate-load-alone" => ("nothing", "without deletions"),
        _ => return response(id),
    };
    let of_load = Coordinates::of_measure("load-response", "response time of the load");
    Some(of_load.called(Beside, beside, words).at(Quantile, "p99.9"))
}

/// `VIEW-PERCENTILE`, `VIEW-PERCENTILE-placebo`.
fn response(id: &str) -> Option<Coordinates> {
    let (id, after) = id.strip_suffix("-placebo").map_or((id, "deletion"), |id| (id, "placebo"));
    let (view, quantile) = percentile(id)?;
    let (view, words) = match view {
        "response" => ("accesses", "per access"),
        "weighted" => ("time", "by time spent"),
        _ => return None,
    };
    let response = Coordinates::of_measure("response", "response time")
        .called(After, after, format!("after a {after}"))
        .at(Quantile, quantile)
        .called(View, view, words);
    Some(response)
}

/// `trim-PERCENTILE`, `cost-per-gb-CONTENT`, `alone-max`, `loaded-p98.5`, ...
fn sweep(id: &str, title: &str) -> Option<Coordinates> {
    let mapped = |words| Some(Coordinates::of_measure(id, words).at(State, "mapped"));
    let longest = |beside, how| {
        let longest = Coordinates::of_measure("longest", "longest read or write");
        Some(longest.called(Beside, beside, how))
    };
    let most = |beside, how| {
        let most = Coordinates::of_measure("most", "98.5 % of reads and writes");
        Some(most.called(Beside, beside, how).at(Quantile, "p98.5"))
    };
    match id {
        "throughput" => mapped("most bytes discarded a second"),
        "command-rate" => mapped("most discards a second"),
        "alone-max" => longest("nothing", "without TRIMs"),
        "alone-p98.5" => most("nothing", "without TRIMs"),
        "loaded-max" => longest("trims", "beside TRIMs"),
        "loaded-p98.5" => most("trims", "beside TRIMs, worst row"),
        _ => {
            if let Some(content) = id.strip_prefix("cost-per-gb-") {
                let cost = Coordinates::of_measure("cost-per-gb", "cost of a GB");
                return Some(cost.called(State, content, content.replace('-', " ")));
            }
            let (_, quantile) = percentile(id).filter(|(measure, _)| *measure == "trim")?;
            let (words, _) = title.split_once(": ")?;
            Some(Coordinates::of_measure("trim", words).at(Quantile, quantile))
        }
    }
}

/// `idle-trim`, `idle-trim-MEASURE`, `chunked`, `chunked-MEASURE`.
fn way(id: &str, title: &str) -> Option<Coordinates> {
    let one_go = id.strip_prefix("idle-trim").map(|rest| ("one-go", rest));
    let (way, rest) = one_go.or_else(|| Some(("chunks", id.strip_prefix("chunked")?)))?;
    let measure = if rest.is_empty() { "cost" } else { rest.strip_prefix('-')? };
    let (words, how) = title.rsplit_once(", ")?;
    Some(Coordinates::of_measure(measure, words).called(Way, way, how))
}

/// `PASS`, `write-amplification-PASS`, `PASS-of-fresh`, `PASS-compared`, `PASS-of-fresh-compared`.
fn pass(id: &str) -> Option<Coordinates> {
    let compared = id.strip_suffix("-compared");
    let rest = compared.unwrap_or(id);
    let of_fresh = rest.strip_suffix("-of-fresh");
    let rest = of_fresh.unwrap_or(rest);
    let wear = rest.strip_prefix("write-amplification-");
    let (pass, state) = PASSES.into_iter().find(|(pass, _)| *pass == wear.unwrap_or(rest))?;
    let measured = match (wear, compared) {
        (Some(_), _) => Coordinates::of_measure(
            "write-amplification",
            format!("write amplification of {WRITES}"),
        ),
        (None, Some(_)) => Coordinates::of_measure("throughput", ""),
        (None, None) => Coordinates::of_measure("throughput", WRITES),
    };
    let mut found = measured.called(State, pass, state);
    if compared.is_some() {
        found = found.called(Data, "compared", "other data");
    }
    if of_fresh.is_some() {
        let with_it = if compared.is_some() { " with it" } else { "" };
        found = found.called(Over, "fresh", format!("{SHARE_OF_FRESH}{with_it}"));
    }
    Some(found)
}

/// `MEASURE`, `MEASURE-trimmed-PERCENT`.
fn share(id: &str, title: &str) -> Option<Coordinates> {
    let (measure, percent) = id.split_once("-trimmed-").unwrap_or((id, "0"));
    let trimmed = if percent == "0" { String::new() } else { format!("{percent} % trimmed") };
    let of = |measure: &str, words: &str| {
        Some(Coordinates::of_measure(measure, words).called(Trimmed, percent, &trimmed))
    };
    let (words, _) = title.split_once(", ").unwrap_or((title, ""));
    match (measure, percentile(measure)) {
        ("gain", _) => {
            of(measure, "IOPS").map(|gain| gain.called(Over, "untrimmed", "over those without"))
        }
        (_, Some(("latency", quantile))) => {
            of("latency", words).map(|latency| latency.at(Quantile, quantile))
        }
        _ if OF_SHARE.contains(&measure) => of(measure, words),
        _ => None,
    }
}

/// `rate-kept`, `at-RATE-MEASURE`, `at-RATE-CLASS-PERCENTILE`, and these with `-trim-RATE` behind.
fn load(id: &str, title: &str) -> Option<Coordinates> {
    let (rest, trims) = match id.rsplit_once("-trim-") {
        Some((rest, trims)) if is_number(trims) => (rest, trims),
        _ => (id, "0"),
    };
    let beside = format!("beside {trims} TRIMs a second");
    let beside = if trims == "0" { "" } else { beside.as_str() };
    if rest == "rate-kept" {
        let words = title.strip_suffix(beside).unwrap_or(title).trim_end();
        return Some(Coordinates::of_measure(rest, words).called(Beside, trims, beside));
    }
    let rest = rest.strip_prefix("at-")?;
    let (rate, words, measure) = if let Some((percent, measure)) = rest.split_once("-percent-") {
        (format!("{percent}-percent"), format!("at {percent} % of sustained"), measure)
    } else {
        let (rate, measure) = rest.split_once("-per-s-")?;
        (format!("{rate}-per-s"), format!("at {} a second", count(rate.parse().ok()?)), measure)
    };
    let plural = |class| match class {
        "read" => Some("reads"),
        "write" => Some("writes"),
        "trim" => Some("TRIMs"),
        _ => None,
    };
    let measured = match (measure.rsplit_once('-'), percentile(measure)) {
        (None, _) if measure == "achieved" => {
            Coordinates::of_measure(measure, "reads and writes a second")
        }
        (_, Some((class, quantile))) => {
            Coordinates::of_measure(class, plural(class)?).at(Quantile, quantile)
        }
        (Some((class, "mean")), _) => {
            Coordinates::of_measure(measure, format!("mean of the {}", plural(class)?))
        }
        (Some((class, "max")), _) => {
            Coordinates::of_measure(measure, format!("longest of the {}", plural(class)?))
        }
        _ => return None,
    };
    Some(measured.called(Rate, rate, words).called(Beside, trims, beside))
}

/// `MEASURE-PACE-TRIMS`. A pass is called by both; gains say in words of which TRIMs they are.
fn trace(id: &str, title: &str) -> Option<Coordinates> {
    let (rest, trims) = id.rsplit_once('-')?;
    let (measure, pace) = rest.rsplit_once('-')?;
    let is_known = ["kept", "stripped", "synthesised"].contains(&trims);
    let (words, _) = title.rsplit_once(", ").filter(|_| is_known)?;
    let found = Coordinates::of_measure(measure, words);
    Some(if ["gain", "gain-min", "gain-max"].contains(&measure) {
        found.at(Pace, pace).called(Trims, trims, "")
    } else {
        found.called(Pace, pace, "").called(Trims, trims, format!("{pace}-{trims}"))
    })
}

/// `MEASURE-pNN.N`.
fn percentile(id: &str) -> Option<(&str, &str)> {
    let (measure, quantile) = id.rsplit_once('-')?;
    quantile.parse::<crate::Quantile>().ok().map(|_| (measure, quantile))
}

fn is_number(text: &str) -> bool {
    text.parse::<u64>().is_ok()
}
