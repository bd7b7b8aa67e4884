//! Wrong arguments: what clap found, in the words of all other errors, with what to write instead.

use std::fmt;
use std::ops::RangeInclusive;

use anyhow::anyhow;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory as _};
use trimbench_app::{Failure, LEAVE_METHODS_OUT};
use trimbench_core::nearest::{did_you_mean, nearest};
use trimbench_core::units::UnitError;
use trimbench_methods::METHODS;

use crate::args::Args;

/// A value for each option whose kind of value is not plain from its name.
const EXAMPLES: [(&str, &str); 13] = [
    ("--target", "sim:generic-nvme-tlc"),
    ("--preset", "standard"),
    ("--set", "window=10s"),
    ("--limit", "p99.9=5ms"),
    ("--capacity", "32GiB"),
    ("--assumed-rate", "500MB"),
    ("--quiet-wait", "10min"),
    ("--seed", "1"),
    ("--jobs", "2"),
    ("--output", "my-run"),
    ("--resume", "my-run"),
    ("--job", "run.toml"),
    ("--destroy", "/dev/disk/by-id/ID"),
];
/// What is said of the arguments that stand for a whole plan.
const EXCLUSIVE: [(&str, &str); 2] = [
    ("--resume", "an interrupted run continues with the plan and the seed of its record"),
    ("--job", "change it in the job file"),
];

/// A number that is none, or out of its range.
#[derive(Clone, Debug)]
pub(crate) struct NumberError {
    whole: bool,
    range: RangeInclusive<u64>,
}

impl fmt::Display for NumberError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.whole { "is out of range" } else { "is not a whole number" })
    }
}

impl std::error::Error for NumberError {}

/// Reads a whole number of this range.
pub(crate) fn whole(text: &str, range: RangeInclusive<u64>) -> Result<u64, NumberError> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let value = text.parse().ok().filter(|value| range.contains(value));
    value.ok_or(NumberError { whole, range })
}

/// The words without the request for help on `help`, which has none of its own.
pub(crate) fn without_help_of_help<T: PartialEq<str>>(mut words: Vec<T>) -> Vec<T> {
    if words.get(1).is_some_and(|word| *word == *"help") {
        words.retain(|word| *word != *"--help" && *word != *"-h");
    }
    words
}

/// What is wrong with the `words` of a command line, of which clap says `error`. `None` where its
/// own text is the answer: the help that follows on no command at all.
pub(crate) fn failure(error: &clap::Error, words: &[String]) -> Option<Failure> {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return None;
    }
    let command = Misused::of(words);
    let (message, hint) = command.explained(error).unwrap_or_else(|| {
        let text = error.render().to_string();
        let text = text.lines().next().unwrap_or_default();
        (text.strip_prefix("error: ").unwrap_or(text).to_owned(), command.help())
    });
    Some(Failure::usage(anyhow!(message)).with_hint(hint))
}

/// The command that was meant, as far as the words name one.
struct Misused<'a> {
    command: Command,
    /// As it is called: `trimbench trace convert`.
    name: String,
    words: &'a [String],
}

impl<'a> Misused<'a> {
    fn of(words: &'a [String]) -> Self {
        let mut command = Args::command();
        command.build();
        let mut name = "trimbench".to_owned();
        for word in words.iter().skip(1) {
            let Some(inner) = command.find_subcommand(word).cloned() else { break };
            name = format!("{name} {word}");
            command = inner;
        }
        Self { command, name, words }
    }

    /// The message and the hint.
    fn explained(&self, error: &clap::Error) -> Option<(String, String)> {
        let argument = text(error, ContextKind::InvalidArg);
        let given = text(error, ContextKind::InvalidValue);
        Some(match error.kind() {
            ErrorKind::InvalidSubcommand => {
                self.unknown_command(&text(error, ContextKind::InvalidSubcommand)?)
            }
            ErrorKind::MissingSubcommand => {
                ("a command is missing".to_owned(), format!("commands: {}", self.commands()))
            }
            ErrorKind::UnknownArgument => self.unknown_argument(error, &argument?),
            ErrorKind::InvalidValue if given.as_ref().is_some_and(String::is_empty) => {
                let option = bare(&argument?).to_owned();
                (format!("`{option}` has no value"), self.example(&option))
            }
            ErrorKind::InvalidValue => self.not_one_of(error, &argument?, &given?),
            ErrorKind::ValueValidation => self.wrong_value(error, &argument?, &given?),
            ErrorKind::MissingRequiredArgument => self.missing(&argument?),
            ErrorKind::ArgumentConflict => {
                self.exclusive(&argument?, &text(error, ContextKind::PriorArg)?)
            }
            _ => return None,
        })
    }

    fn unknown_command(&self, given: &str) -> (String, String) {
        let commands = self.commands();
        if METHODS.iter().any(|method| method.id == given) {
            let hint = format!("it is a method: `trimbench run {given}`");
            return (format!("there is no command `{given}`"), hint);
        }
        let letters = |word: &str| {
            let mut letters: Vec<char> = word.chars().collect();
            letters.sort_unstable();
            letters
        };
        // In words this short, letters in another order are not alike enough.
        let swapped = commands.split(", ").find(|name| letters(name) == letters(given));
        let meant = did_you_mean(swapped.or_else(|| nearest(given, commands.split(", "))));
        (format!("there is no command `{given}`{meant}"), format!("commands: {commands}"))
    }

    fn unknown_argument(&self, error: &clap::Error, given: &str) -> (String, String) {
        if !given.starts_with('-') {
            return (format!("`{given}` is one argument too many"), self.help());
        }
        if self.name == "trimbench run" && given == "--all" {
            return ("there is no option `--all`".to_owned(), LEAVE_METHODS_OUT.to_owned());
        }
        let meant = text(error, ContextKind::SuggestedArg);
        let meant = did_you_mean(meant.as_deref().map(bare));
        (format!("there is no option `{given}`{meant}"), self.help())
    }

    fn not_one_of(&self, error: &clap::Error, argument: &str, given: &str) -> (String, String) {
        let Some(ContextValue::Strings(valid)) = error.get(ContextKind::ValidValue) else {
            return (format!("`{given}` is not a value of {argument}"), self.help());
        };
        let meant = did_you_mean(nearest(given, valid.iter().map(String::as_str)));
        let shown = shown(argument, given);
        let hint = format!("`{} --help` says what each means", self.name);
        (format!("{shown} is not one of {}{meant}", valid.join(", ")), hint)
    }

    fn wrong_value(&self, error: &clap::Error, argument: &str, given: &str) -> (String, String) {
        let shown = shown(argument, given);
        let source = std::error::Error::source(error);
        if let Some(number) = source.and_then(|it| it.downcast_ref::<NumberError>()) {
            let (low, high) = (number.range.start(), number.range.end());
            return (format!("{shown} {number}"), format!("give {low} to {high}"));
        }
        let problem = source.map_or_else(|| "it is not valid".to_owned(), ToString::to_string);
        let hint = match source.and_then(|it| it.downcast_ref::<UnitError>()) {
            Some(UnitError::Ambiguous { number, unit }) => {
                format!("write `{number}{unit}B` or `{number}{unit}iB`")
            }
            Some(UnitError::UnknownUnit { unit, meant: Some(meant), .. }) => {
                format!("write `{}`", given.replace(unit.as_str(), meant))
            }
            Some(_) => self.example(bare(argument)),
            None => self.help(),
        };
        (format!("{shown}: {problem}"), hint)
    }

    fn missing(&self, argument: &str) -> (String, String) {
        let name = bare(argument);
        for demands in ["--overwrite-signature", "--sole-user"] {
            let is_given = self.words.iter().any(|word| {
                word.strip_prefix(demands)
                    .is_some_and(|rest| matches!(rest.bytes().next(), None | Some(b'=')))
            });
            if name == "--destroy" && is_given {
                let hint = "add `--destroy PATH`, the name of the target";
                return (format!("`{demands}` needs `--destroy`"), hint.to_owned());
            }
        }
        if !name.starts_with('-') {
            let positionals: Vec<String> = self
                .command
                .get_positionals()
                .map(|positional| bare(&positional.to_string()).to_owned())
                .collect();
            let hint = format!("write `{} {}`", self.name, positionals.join(" "));
            return (format!("{name} is missing"), hint);
        }
        let all = self.command.get_arguments().find(|known| bare(&known.to_string()) == name);
        let values = all.map(clap::Arg::get_possible_values).unwrap_or_default();
        let values: Vec<&str> = values.iter().map(clap::builder::PossibleValue::get_name).collect();
        let hint = if values.is_empty() {
            format!("write `{argument}`")
        } else {
            format!("write `{name}` and one of {}", values.join(", "))
        };
        (format!("`{name}` is missing"), hint)
    }

    fn exclusive(&self, one: &str, other: &str) -> (String, String) {
        let (one, other) = (bare(one), bare(other));
        for (whole, hint) in EXCLUSIVE {
            if [one, other].contains(&whole) {
                let other = if one == whole { other } else { one };
                let message = format!("`{whole}` and {} exclude each other", quoted(other));
                return (message, hint.to_owned());
            }
        }
        let message = format!("{} and {} exclude each other", quoted(one), quoted(other));
        (message, self.help())
    }

    fn example(&self, option: &str) -> String {
        let example = EXAMPLES.iter().find(|(name, _)| *name == option);
        example.map_or_else(
            || self.help(),
            |(name, value)| format!("write for example `{name} {value}`"),
        )
    }

    fn commands(&self) -> String {
        let visible = self.command.get_subcommands().filter(|command| !command.is_hide_set());
        visible.map(Command::get_name).collect::<Vec<_>>().join(", ")
    }

    fn help(&self) -> String {
        format!("`{} --help` lists all options", self.name)
    }
}

/// An option's name, or an argument's, without what stands for its value.
fn bare(argument: &str) -> &str {
    let name = argument.split([' ', '=']).next().unwrap_or(argument);
    name.trim_matches(['<', '>', '[', ']', '.'])
}

fn quoted(name: &str) -> String {
    if name.starts_with('-') { format!("`{name}`") } else { name.to_owned() }
}

/// A value as it was given, behind its option if it has one.
fn shown(argument: &str, given: &str) -> String {
    match bare(argument) {
        option if option.starts_with('-') => format!("`{option} {given}`"),
        _ => format!("`{given}`"),
    }
}

/// The first text of this kind in an error.
fn text(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => texts.first().cloned(),
        _ => None,
    }
}
