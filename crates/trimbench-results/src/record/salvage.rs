//! What can be understood of a record that is not whole: of a later format, cut off, or changed.
//!
//! The document is read piece by piece, so that what stands before the flaw is there. A session
//! whose parts are broken keeps those that are not; one without plan or target is left out. What is
//! left out is said: a number is shown as it was written or not at all.

use serde::de::{DeserializeOwned, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::histograms::histogram_flaws;
use super::older::upgrade;
use super::read::{parse, syntax};
use super::{
    Figure, Outcome, PlannedSession, Program, RecordError, RunRecord, SCHEMA, Session, Step,
    TargetRecord,
};

#[cfg(test)]
mod tests;

/// What could be understood of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Salvaged {
    /// What could be understood; all of it where there are no flaws.
    pub record: RunRecord,
    /// What could not, each in a sentence without a full stop.
    pub flaws: Vec<String>,
}

pub(super) fn salvage(json: &[u8]) -> Result<Salvaged, RecordError> {
    let refusal = match parse(json) {
        Ok(record) => return Ok(Salvaged { record, flaws: Vec::new() }),
        Err(refusal) => refusal,
    };
    let mut pieces = Pieces::default();
    let mut reader = serde_json::Deserializer::from_slice(json);
    let end = Whole(&mut pieces).deserialize(&mut reader).and_then(|()| reader.end());
    let schema = pieces.rest.get("schema").and_then(Value::as_u64).filter(|schema| *schema > 0);
    let (Some(schema), Some(program)) = (schema, pieces.rest.remove("program")) else {
        return Err(refusal);
    };
    let mut flaws = Vec::new();
    if schema > u64::from(SCHEMA) {
        let newer = RecordError::Newer { found: schema, supported: SCHEMA };
        flaws.push(format!("{newer}: what it shares with that is shown"));
    }
    let unknown = || "unknown".to_owned();
    let program = parsed(program, "`program`", &mut flaws);
    let program = program.unwrap_or_else(|| Program {
        name: unknown(),
        version: unknown(),
        commit: unknown(),
        model_version: 0,
    });
    let mut field = |key: &str| pieces.rest.remove(key);
    let run_id = field("run_id").and_then(|id| serde_json::from_value(id).ok());
    let seed = required(field("seed"), "`seed`", &mut flaws).unwrap_or(0);
    let outcome = field("outcome");
    // A record that is cut off before its sessions has an outcome all the same: it comes first.
    let outcome = required(outcome, "`outcome`", &mut flaws).unwrap_or(Outcome::Running);
    let plan: Vec<PlannedSession> = sound(pieces.plan, "planned sessions", &mut flaws, |_| true);
    let found = pieces.sessions.len();
    let sessions = pieces.sessions.into_iter().enumerate();
    let sessions: Vec<Session> = sessions
        .filter_map(|(index, value)| session(value, index, plan.get(index), &mut flaws))
        .map(|mut session| {
            upgrade(&mut session, schema);
            session
        })
        .collect();
    let advice = match pieces.rest.remove("advice") {
        Some(advice) => parsed(advice, "`advice`", &mut flaws).unwrap_or_default(),
        None => Vec::new(),
    };
    if let Err(error) = end {
        let error = syntax(&error, json);
        flaws.push(format!("{error}: {found} of {} sessions were read", plan.len().max(found)));
    }
    // Every part was understood and the whole was not: a field that is there twice, or has a value
    // that is in no part.
    if flaws.is_empty() {
        let cause = std::error::Error::source(&refusal).map(|cause| format!(": {cause}"));
        flaws.push(format!("{refusal}{}", cause.unwrap_or_default()));
    }
    let record =
        RunRecord { schema: SCHEMA, program, run_id, seed, outcome, advice, plan, sessions };
    Ok(Salvaged { record, flaws })
}

/// One session, with those of its parts that are sound.
fn session(
    value: Value,
    index: usize,
    plan: Option<&PlannedSession>,
    flaws: &mut Vec<String>,
) -> Option<Session> {
    let refusal = match Session::deserialize(&value) {
        Ok(mut session) if session.validate().is_ok() => {
            drop_broken(&mut session.steps, index, flaws);
            return Some(session);
        }
        Ok(_) => None,
        Err(refusal) => Some(refusal),
    };
    let left_out = |why: &str| format!("session {index} is left out: {why}");
    let Value::Object(mut fields) = value else {
        flaws.push(left_out("it is no object"));
        return None;
    };
    let own = fields.remove("plan").and_then(|plan| serde_json::from_value(plan).ok());
    let target: Option<TargetRecord> =
        fields.remove("target").and_then(|target| serde_json::from_value(target).ok());
    let (Some(plan), Some(target)) = (own.or_else(|| plan.cloned()), target) else {
        let why = refusal.map_or_else(|| "no plan".to_owned(), |refusal| refusal.to_string());
        flaws.push(left_out(&why));
        return None;
    };
    let PlannedSession { method, target: on, .. } = &plan;
    let place = format!("session {index} (`{method}` on `{on}`)");
    let steps = list(&mut fields, "steps");
    let figures = list(&mut fields, "figures");
    let named = |what: &str| format!("{what} of {place}");
    let mut steps = sound(steps, &named("steps"), flaws, |step: &Step| step.validate().is_ok());
    drop_broken(&mut steps, index, flaws);
    let figures = sound(figures, &named("figures"), flaws, Figure::is_sound);
    let mut field = |key: &str| (fields.remove(key), named(&format!("`{key}`")));
    let (version, name) = field("method_version");
    let method_version = required(version, &name, flaws).unwrap_or(0);
    let (caveats, name) = field("caveats");
    let caveats = required(caveats, &name, flaws).unwrap_or_default();
    let (finished, name) = field("finished");
    let finished = required(finished, &name, flaws).unwrap_or(false);
    let mut text = |key: &str| field(key).0.and_then(|value| serde_json::from_value(value).ok());
    let (state, trace_hash, left_out) = (text("state"), text("trace_hash"), text("left_out"));
    let mut map = |key: &str| {
        let value = field(key).0.and_then(|value| serde_json::from_value(value).ok());
        value.unwrap_or_default()
    };
    let environment_before = map("environment_before");
    let environment_after = map("environment_after");
    Some(Session {
        plan,
        method_version,
        target,
        state: state.unwrap_or_default(),
        environment_before,
        environment_after,
        steps,
        figures,
        caveats,
        trace_hash,
        finished,
        left_out,
    })
}

/// Drops histograms that cannot be believed, and says so.
fn drop_broken(steps: &mut [Step], session: usize, flaws: &mut Vec<String>) {
    for step in steps {
        let broken: Vec<_> = histogram_flaws(step).collect();
        for flaw in broken {
            step.histograms.remove(flaw.key());
            flaws.push(format!("session {session}, step `{}`: {flaw}: left out", step.id));
        }
    }
}

/// The elements under a key; none where there is no list.
fn list(fields: &mut Map<String, Value>, key: &str) -> Vec<Value> {
    match fields.remove(key) {
        Some(Value::Array(values)) => values,
        _ => Vec::new(),
    }
}

/// What can be read of a list and is sound; one flaw for all that cannot.
fn sound<T: DeserializeOwned>(
    values: Vec<Value>,
    what: &str,
    flaws: &mut Vec<String>,
    is_sound: impl Fn(&T) -> bool,
) -> Vec<T> {
    let count = values.len();
    let mut first = None;
    let mut kept = Vec::with_capacity(count);
    for value in values {
        match serde_json::from_value(value) {
            Ok(value) if is_sound(&value) => kept.push(value),
            Ok(_) => first = first.or_else(|| Some("a number in it is not sound".to_owned())),
            Err(error) => first = first.or_else(|| Some(error.to_string())),
        }
    }
    if let Some(why) = first {
        let lost = count - kept.len();
        flaws.push(format!("{lost} of {count} {what} are left out ({why})"));
    }
    kept
}

/// A value that should be there.
fn required<T: DeserializeOwned>(
    value: Option<Value>,
    name: &str,
    flaws: &mut Vec<String>,
) -> Option<T> {
    if value.is_none() {
        flaws.push(format!("{name} is missing"));
    }
    parsed(value?, name, flaws)
}

fn parsed<T: DeserializeOwned>(value: Value, name: &str, flaws: &mut Vec<String>) -> Option<T> {
    let parsed = serde_json::from_value(value);
    parsed.inspect_err(|error| flaws.push(format!("{name} is not understood: {error}"))).ok()
}

/// A record in pieces, as far as it could be read.
#[derive(Default)]
struct Pieces {
    plan: Vec<Value>,
    sessions: Vec<Value>,
    rest: Map<String, Value>,
}

/// Reads a document into pieces, which keep what was read before an error.
struct Whole<'a>(&'a mut Pieces);

impl<'de> DeserializeSeed<'de> for Whole<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Whole<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a run record")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "plan" => map.next_value_seed(Elements(&mut self.0.plan))?,
                "sessions" => map.next_value_seed(Elements(&mut self.0.sessions))?,
                _ => {
                    let value = map.next_value()?;
                    self.0.rest.insert(key, value);
                }
            }
        }
        Ok(())
    }
}

/// Reads the elements of a list, and keeps those before an error.
struct Elements<'a>(&'a mut Vec<Value>);

impl<'de> DeserializeSeed<'de> for Elements<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Elements<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(value) = list.next_element()? {
            self.0.push(value);
        }
        Ok(())
    }
}
