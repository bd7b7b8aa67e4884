//! `trimbench trace stat`: statistics of a trace, for people and for programs.

use serde_json::{Value, json};
use trimbench_app::{Failure, open_trace};
use trimbench_core::{Bytes, Nanos};
use trimbench_report::{Grid, GridColumn, Style, sparkline};
use trimbench_results::number::{quantity, significant};
use trimbench_trace::stat::{OfKind, StatisticsCollector, Table, TraceStatistics};
use trimbench_trace::{LatencySteps, ReadOptions, Reader, RecordKind, TraceLatencies, TraceSource};

use super::{each_batch, refuse_empty, say_skipped};
use crate::args::trace::StatArgs;
use crate::interrupt::interrupt;
use crate::output::{Printed, document, joined, style};

/// Reads the whole trace, then prints.
pub(super) fn stat(args: &StatArgs) -> Result<u8, Failure> {
    let interrupt = interrupt("stopping; nothing is printed (Ctrl-C again stops at once)", || {})?;
    let options = ReadOptions { latencies: true, ..args.read.options() };
    let (mut reader, _) = open_trace(&args.files, &options)?;
    let mut collector = StatisticsCollector::new(args.unit);
    each_batch(&mut reader, &interrupt, |batch| {
        collector.add(batch);
        Ok(())
    })?;
    let code = refuse_empty(&reader)?;
    let statistics = collector.finish();
    say_skipped(&reader);
    ReaderStatistics { reader: &reader, statistics: &statistics }.print(args.format.format());
    Ok(code)
}

/// The statistics of a trace that was read.
struct ReaderStatistics<'a> {
    reader: &'a Reader,
    statistics: &'a TraceStatistics,
}

impl Printed for ReaderStatistics<'_> {
    fn human(&self) -> String {
        joined(human(self.reader, self.statistics, style()))
    }

    fn json(&self) -> String {
        document(&described(self.reader, self.statistics))
    }

    fn items(&self) -> Vec<Value> {
        vec![described(self.reader, self.statistics)]
    }
}

/// What a command is called.
fn name(kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::Read => "read",
        RecordKind::Write => "write",
        RecordKind::Discard => "trim",
        RecordKind::Flush => "flush",
    }
}

/// A count of bytes for JSON, which has no numbers beyond 64 bits.
fn number(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

fn ratio(part: u128, whole: u128) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn described(reader: &Reader, it: &TraceStatistics) -> Value {
    let kinds = RecordKind::ALL.map(|kind| {
        let of = &it.kinds[kind as usize];
        json!({
            "kind": name(kind),
            "commands": of.commands,
            "bytes": number(of.bytes),
            "sequential_commands": of.sequential_commands,
            "sequential_bytes": number(of.sequential_bytes),
            "sizes_bytes": bins(&of.sizes),
        })
    });
    let series = it.live.series.iter().map(|point| {
        json!({
            "commands": point.commands,
            "time_ns": point.time.0,
            "written_bytes": number(point.written_bytes),
            "live_bytes": point.live_bytes,
        })
    });
    let trims = &it.trims;
    let counts = |list: Vec<(&str, u64)>| {
        list.into_iter().map(|(what, count)| json!({ "what": what, "count": count })).collect()
    };
    let tally = reader.tally();
    let skipped: Vec<Value> = counts(tally.flaws().map(|(it, n)| (it.text(), n)).collect());
    let ignored: Vec<Value> = counts(tally.ignored().map(|(it, n)| (it.text(), n)).collect());
    json!({
        "format": reader.format().id,
        "timed": reader.is_timed(),
        "records": tally.records,
        "skipped": skipped,
        "ignored": ignored,
        "duration_ns": it.duration.0,
        "lowest_byte": it.lowest.map(|lowest| lowest.0),
        "span_bytes": it.span.0,
        "kinds": kinds,
        "gaps_ns": if reader.is_timed() { bins(&it.gaps) } else { Value::Null },
        "latencies": described_latencies(reader),
        "latencies_unpaired": reader.latencies().map_or(0, TraceLatencies::unpaired),
        "unit_bytes": it.unit.bytes().0,
        "live": {
            "end_bytes": it.live.end_bytes,
            "most_bytes": it.live.most_bytes,
            "series": series.collect::<Vec<_>>(),
            "unfollowed_bytes": number(it.live.unfollowed_bytes),
        },
        "trims": {
            "freed_bytes": number(trims.freed_bytes),
            "double_bytes": number(trims.double_bytes),
            "double_commands": trims.double_commands,
            "unwritten_bytes": number(trims.unwritten_bytes),
            "partial_bytes": number(trims.partial_bytes),
            "partial_commands": trims.partial_commands,
            "end_bytes": number(trims.end_bytes),
            "rewritten_bytes": number(trims.rewritten_bytes),
            "distance_written_bytes": bins(&trims.distance_bytes),
            "distance_commands": bins(&trims.distance_commands),
            "unfollowed_bytes": number(trims.unfollowed_bytes),
        },
    })
}

fn described_latencies(reader: &Reader) -> Vec<Value> {
    let row = |(kind, with_discards, of): (RecordKind, bool, &LatencySteps)| {
        json!({
            "kind": name(kind),
            "with_discards": with_discards,
            "commands": of.count(),
            "latency_ns_p50": of.permille(500).map(|it| it.0),
            "latency_ns_p99": of.permille(990).map(|it| it.0),
            "latency_ns_p99_9": of.permille(999).map(|it| it.0),
            "latency_ns_max": of.longest().0,
        })
    };
    told_latencies(reader).map(row).collect()
}

fn bins(table: &Table) -> Value {
    let bins = table
        .bins()
        .map(|bin| json!({ "from": bin.from, "to": bin.to, "count": number(bin.count) }));
    Value::Array(bins.collect())
}

fn human(reader: &Reader, it: &TraceStatistics, style: Style) -> Vec<String> {
    let mut lines = vec![heading(reader, it), String::new()];
    lines.extend(kinds(it).render(style));
    lines.push(String::new());
    lines.extend(sizes(it).render(style));
    if reader.is_timed() {
        lines.push(String::new());
        lines.extend(distribution("gap to the next command", &it.gaps, "ns").render(style));
    }
    if told_latencies(reader).next().is_some() {
        lines.push(String::new());
        lines.extend(latencies(reader).render(style));
    }
    lines.push(String::new());
    lines.extend(live(it, style));
    if it.kinds[RecordKind::Discard as usize].commands > 0 {
        lines.push(String::new());
        lines.extend(trims(it).render(style));
    }
    if it.trims.rewritten_bytes > 0 {
        for (title, table, unit) in [
            ("written from TRIM to rewrite", &it.trims.distance_bytes, "B"),
            ("commands from TRIM to rewrite", &it.trims.distance_commands, ""),
        ] {
            lines.push(String::new());
            lines.extend(distribution(title, table, unit).render(style));
        }
    }
    lines
}

fn heading(reader: &Reader, it: &TraceStatistics) -> String {
    let time = if reader.is_timed() {
        format!("over {}", quantity(it.duration.seconds(), "s"))
    } else {
        "without timestamps".to_owned()
    };
    let span = quantity(it.span.0 as f64, "B");
    let records = reader.tally().records;
    format!("{}: {records} commands {time}, up to byte {} ({span})", reader.format().id, it.span.0)
}

fn kinds(it: &TraceStatistics) -> Grid {
    let mut grid = Grid::new(vec![
        GridColumn::name("kind"),
        GridColumn::number("commands"),
        GridColumn::number("bytes"),
        GridColumn::number("mean size"),
        GridColumn::number("sequential commands"),
        GridColumn::number("sequential bytes"),
    ]);
    for kind in RecordKind::ALL {
        let of: &OfKind = &it.kinds[kind as usize];
        if of.commands == 0 {
            continue;
        }
        let mean = of.bytes as f64 / of.commands as f64;
        grid.row([
            name(kind).to_owned(),
            of.commands.to_string(),
            quantity(of.bytes as f64, "B"),
            quantity(mean, "B"),
            percent(of.sequential_commands.into(), of.commands.into()),
            percent(of.sequential_bytes, of.bytes),
        ]);
    }
    grid
}

/// Sizes of reads, writes and TRIMs side by side, in shares of the commands of each kind.
fn sizes(it: &TraceStatistics) -> Grid {
    let kinds = [RecordKind::Read, RecordKind::Write, RecordKind::Discard];
    let kinds = kinds.into_iter().filter(|kind| it.kinds[*kind as usize].commands > 0);
    let tables: Vec<(&str, &Table)> =
        kinds.map(|kind| (name(kind), &it.kinds[kind as usize].sizes)).collect();
    let mut columns = vec![GridColumn::number("size from")];
    columns.extend(tables.iter().map(|(name, _)| GridColumn::number(name)));
    let mut grid = Grid::new(columns);
    let mut starts: Vec<u64> =
        tables.iter().flat_map(|(_, table)| table.bins().map(|bin| bin.from)).collect();
    starts.sort_unstable();
    starts.dedup();
    for start in starts {
        let cells = tables.iter().map(|(_, table)| {
            let bin = table.bins().find(|bin| bin.from == start);
            bin.map_or_else(|| "-".to_owned(), |bin| percent(bin.count, table.total()))
        });
        grid.row(std::iter::once(Bytes(start).to_string()).chain(cells));
    }
    grid
}

fn distribution(title: &str, table: &Table, unit: &str) -> Grid {
    let mut grid = Grid::new(vec![GridColumn::number(title), GridColumn::number("share")]);
    for bin in table.bins() {
        let from = match unit {
            "B" => Bytes(bin.from).to_string(),
            _ => quantity(bin.from as f64, unit),
        };
        grid.row([format!("from {from}"), percent(bin.count, table.total())]);
    }
    grid
}

/// What the trace tells of latencies: of each kind, without and with discards in flight.
fn told_latencies(reader: &Reader) -> impl Iterator<Item = (RecordKind, bool, &LatencySteps)> {
    let rows = RecordKind::ALL.into_iter().flat_map(|kind| [(kind, false), (kind, true)]);
    let all = reader.latencies();
    rows.filter_map(move |(kind, with)| Some((kind, with, all?.of(kind, with))))
        .filter(|(_, _, of)| of.count() > 0)
}

fn latencies(reader: &Reader) -> Grid {
    let mut grid = Grid::new(vec![
        GridColumn::name("latency"),
        GridColumn::name("discards in flight"),
        GridColumn::number("commands"),
        GridColumn::number("p50"),
        GridColumn::number("p99"),
        GridColumn::number("p99.9"),
        GridColumn::number("maximum"),
    ]);
    for (kind, with_discards, of) in told_latencies(reader) {
        let time = |latency: Nanos| quantity(latency.seconds(), "s");
        let at = |permille| of.permille(permille).map_or_else(String::new, time);
        grid.row([
            name(kind).to_owned(),
            if with_discards { "yes" } else { "no" }.to_owned(),
            of.count().to_string(),
            at(500),
            at(990),
            at(999),
            time(of.longest()),
        ]);
    }
    let unpaired = reader.latencies().map_or(0, TraceLatencies::unpaired);
    if unpaired > 0 {
        grid.span(0, format!("{unpaired} issues or completions lack their partner"));
    }
    grid
}

fn live(it: &TraceStatistics, style: Style) -> Vec<String> {
    const LABEL: usize = 8;
    let span = u128::from(it.span.0);
    let share = |bytes: u64| percent(bytes.into(), span);
    let text = format!(
        "{} at the end ({} of the span), maximum {} ({}); units of {}",
        quantity(it.live.end_bytes as f64, "B"),
        share(it.live.end_bytes),
        quantity(it.live.most_bytes as f64, "B"),
        share(it.live.most_bytes),
        it.unit
    );
    let mut lines = style.labelled("live", LABEL, &text);
    let values: Vec<Option<f64>> =
        it.live.series.iter().map(|point| Some(point.live_bytes as f64)).collect();
    let curve = sparkline(&values, style.width.saturating_sub(LABEL), style.unicode);
    lines.extend(style.labelled("", LABEL, &curve));
    if it.live.unfollowed_bytes > 0 {
        let text = format!(
            "{} lie beyond the memory limit of the statistics, and are not counted as live",
            quantity(it.live.unfollowed_bytes as f64, "B")
        );
        lines.extend(style.labelled("", LABEL, &text));
    }
    lines
}

fn trims(it: &TraceStatistics) -> Grid {
    let trims = &it.trims;
    let all = it.kinds[RecordKind::Discard as usize].bytes;
    let mut grid = Grid::new(vec![
        GridColumn::name("trimmed space"),
        GridColumn::number("bytes"),
        GridColumn::number("share"),
        GridColumn::number("commands"),
    ]);
    let mut row = |what: &str, bytes: u128, commands: Option<u64>| {
        let commands = commands.map_or_else(String::new, |count| count.to_string());
        grid.row([what.to_owned(), quantity(bytes as f64, "B"), percent(bytes, all), commands]);
    };
    row("freed (was live)", trims.freed_bytes, None);
    row("double (was trimmed)", trims.double_bytes, Some(trims.double_commands));
    row("never written", trims.unwritten_bytes, None);
    row("in parts of units", trims.partial_bytes, Some(trims.partial_commands));
    row("written again later", trims.rewritten_bytes, None);
    row("still trimmed at the end", trims.end_bytes, None);
    if trims.unfollowed_bytes > 0 {
        row("not followed: too many extents", trims.unfollowed_bytes, None);
    }
    let span = percent(trims.end_bytes, it.span.0.into());
    grid.span(0, format!("trimmed at the end: {span} of the span"));
    grid
}

fn percent(part: u128, whole: u128) -> String {
    let share = ratio(part, whole).map(|share| significant(share * 100.0));
    share.map_or_else(|| "-".to_owned(), |share| format!("{share} %"))
}
