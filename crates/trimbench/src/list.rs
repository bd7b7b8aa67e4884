//! `trimbench list`: methods and emulated drives, for people and programs.

use serde_json::{Value, json};
use trimbench_app::Failure;
use trimbench_core::exit;
use trimbench_core::nearest::{did_you_mean, nearest};
use trimbench_core::settings::PRESETS;
use trimbench_devices::find_profile;
use trimbench_methods::METHODS;
use trimbench_report::{Grid, GridColumn};
use trimbench_ssd::{BUILT_IN, OriginCounts, Profile};

use crate::args::OutputFormat;
use crate::output::{Printed, cleaned, document, joined, style};

/// Blanks before the text below a row.
const INDENT: usize = 4;

/// A list, both as people and as programs read it.
struct List {
    /// What stands above the table.
    heading: Vec<String>,
    table: Grid,
    /// An object for each item.
    items: Vec<Value>,
    /// The document that holds the items of a list about one thing, and the key that they are at.
    about: Option<(Value, &'static str)>,
}

/// `trimbench list`.
pub(crate) fn list(
    what: Option<&str>,
    explain: Option<&str>,
    format: OutputFormat,
) -> Result<u8, Failure> {
    let list = match (what, explain) {
        (None, None) => {
            Everything { methods: methods(), profiles: profiles() }.print(format);
            return Ok(exit::DONE);
        }
        (Some("methods"), None) => methods(),
        (Some("profiles"), None) => profiles(),
        (Some("methods"), Some(name)) => method(name)?,
        (Some("profiles"), Some(name)) => profile(name)?,
        (Some(name), None) | (None, Some(name)) => either(name)?,
        (Some(one), Some(_)) => {
            let error = anyhow::anyhow!("`{one}` is not one of methods, profiles");
            return Err(Failure::usage(error).with_hint("write `trimbench list --explain NAME`"));
        }
    };
    list.print(format);
    Ok(exit::DONE)
}

impl Printed for List {
    fn human(&self) -> String {
        let style = style();
        let heading = self.heading.iter().flat_map(|line| style.labelled("", 0, line));
        cleaned(&joined(heading.chain(self.table.render(style)).collect()))
    }

    fn json(&self) -> String {
        let items = Value::Array(self.items.clone());
        let Some((about, key)) = &self.about else { return document(&items) };
        let mut about = about.clone();
        about[key] = items;
        document(&about)
    }

    fn items(&self) -> Vec<Value> {
        self.items.clone()
    }
}

/// All that can be listed.
struct Everything {
    methods: List,
    profiles: List,
}

impl Printed for Everything {
    fn human(&self) -> String {
        let hint = "`trimbench list NAME` has the options of a method, or the values of a profile.";
        let hint = joined(style().labelled("", 0, hint));
        format!("{}\n{}\n{hint}", self.methods.human(), self.profiles.human())
    }

    fn json(&self) -> String {
        let Self { methods, profiles } = self;
        document(&json!({ "methods": methods.items, "profiles": profiles.items }))
    }

    fn items(&self) -> Vec<Value> {
        let of = |kind: &'static str, list: &List| {
            let items = list.items.iter().cloned().map(move |mut item| {
                item["kind"] = kind.into();
                item
            });
            items.collect::<Vec<_>>()
        };
        [of("method", &self.methods), of("profile", &self.profiles)].concat()
    }
}

fn methods() -> List {
    let mut table =
        Grid::new(vec![GridColumn::name("method"), GridColumn::text("what it measures")]);
    for method in METHODS {
        table.row([method.id, method.summary].map(str::to_owned));
    }
    let items = METHODS.iter().map(|it| json!({ "id": it.id, "summary": it.summary }));
    List { heading: Vec::new(), table, items: items.collect(), about: None }
}

/// The method or the profile of this name.
fn either(name: &str) -> Result<List, Failure> {
    if METHODS.iter().any(|method| method.id == name) {
        return method(name);
    }
    profile(name).map_err(|failure| {
        let methods = METHODS.iter().map(|method| method.id);
        let known = ["methods", "profiles"].into_iter().chain(methods);
        match nearest(name, known) {
            Some(meant) => {
                let error = anyhow::anyhow!(
                    "there is no method or profile `{name}`{}",
                    did_you_mean(Some(meant))
                );
                Failure::usage(error).with_hint("`trimbench list` lists all of them")
            }
            None => failure,
        }
    })
}

fn method(id: &str) -> Result<List, Failure> {
    let ids: Vec<&str> = METHODS.iter().map(|method| method.id).collect();
    let method = METHODS.iter().find(|method| method.id == id);
    let method = method.ok_or_else(|| Failure::unknown("method", id, &ids))?;
    let titles = ["option"].into_iter().chain(PRESETS);
    let mut table = Grid::new(titles.map(GridColumn::name).collect());
    let mut items = Vec::new();
    for option in (method.options)() {
        table.row([option.key].into_iter().chain(option.presets()).map(str::to_owned));
        table.span(INDENT, option.help.clone());
        let mut item = json!({ "key": option.key, "meaning": option.help });
        for (preset, text) in PRESETS.into_iter().zip(option.presets()) {
            item[preset] = text.into();
        }
        items.push(item);
    }
    let heading = vec![format!("{}: {}", method.id, method.summary), String::new()];
    let about = json!({ "id": method.id, "summary": method.summary });
    Ok(List { heading, table, items, about: Some((about, "options")) })
}

fn profiles() -> List {
    let mut table = Grid::new(vec![
        GridColumn::name("profile"),
        GridColumn::number("assumed"),
        GridColumn::text("models"),
    ]);
    let mut items = Vec::new();
    for built_in in BUILT_IN {
        let profile = Profile::built_in(built_in.name).expect("it was just named");
        let OriginCounts { assumed, .. } = profile.provenance;
        let count = format!("{assumed} of {}", profile.provenance.total());
        items.push(described(&profile));
        table.row([profile.name, count, profile.summary]);
    }
    List { heading: Vec::new(), table, items, about: None }
}

fn profile(name: &str) -> Result<List, Failure> {
    let profile = find_profile(name)?;
    let titles = ["key", "value", "origin"];
    let mut table = Grid::new(titles.map(GridColumn::name).to_vec());
    let mut items = Vec::new();
    for value in profile.values.iter().chain(&profile.published) {
        let origin = value.origin.id();
        table.row([value.key.clone(), value.with_unit(), origin.to_owned()]);
        table.span(INDENT, value.source.clone());
        items.push(json!({
            "key": value.key,
            "value": value.value,
            "origin": origin,
            "source": value.source,
        }));
    }
    let heading = vec![
        format!("{}: {}", profile.name, profile.summary),
        profile.provenance.to_string(),
        String::new(),
    ];
    Ok(List { heading, table, items, about: Some((described(&profile), "values")) })
}

/// What every list says of a profile.
fn described(profile: &Profile) -> Value {
    let OriginCounts { sourced, fitted, assumed, .. } = profile.provenance;
    json!({
        "name": profile.name,
        "summary": profile.summary,
        "sourced": sourced,
        "fitted": fitted,
        "assumed": assumed,
    })
}
