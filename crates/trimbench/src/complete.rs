//! What a shell completes: methods, targets, profiles and their values, options, commands.
//!
//! The shell calls the program with [`VARIABLE`] in its environment; the answer is made of the same
//! definitions as `--help`.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;

use clap::{Command, CommandFactory as _};
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};
use clap_complete::env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Shells, Zsh};
use clap_complete::{CompleteEnv, Shell};
use trimbench_core::settings::PRESETS;
use trimbench_devices::{EMULATED, profile_keys, target_prefixes};
use trimbench_engine::MethodInfo;
use trimbench_methods::METHODS;
use trimbench_ssd::{BUILT_IN, Profile};

use crate::args::Args;

#[cfg(test)]
mod tests;

/// In whose presence the program completes a command line, for the shell that it names.
const VARIABLE: &str = "TRIMBENCH_COMPLETE";
const NAME: &str = "trimbench";

/// Answers a shell, and ends then; does nothing where none asks.
pub(crate) fn answer() {
    let shells: [&dyn EnvCompleter; 5] = [&WholeWords, &Elvish, &Fish, &Powershell, &Zsh];
    CompleteEnv::with_factory(Args::command).var(VARIABLE).shells(Shells(&shells)).complete();
}

/// The script that has a shell ask.
pub(crate) fn registration(shell: Shell) -> String {
    let shell: &dyn EnvCompleter = match shell {
        Shell::Elvish => &Elvish,
        Shell::Fish => &Fish,
        Shell::PowerShell => &Powershell,
        Shell::Zsh => &Zsh,
        _ => &WholeWords,
    };
    let mut script = Vec::new();
    let written = shell.write_registration(VARIABLE, NAME, NAME, NAME, &mut script);
    written.expect("memory takes all that is written");
    String::from_utf8_lossy(&script).replace(ZSH_SOURCED, ZSH_LOADED)
}

/// The end of zsh's script, which is right where it is sourced. Where it is a function on `fpath`,
/// as in the package, it has to complete itself when it is called first.
const ZSH_SOURCED: &str = "\ncompdef _clap_dynamic_completer_trimbench trimbench\n";
const ZSH_LOADED: &str = "
if [ \"$funcstack[1]\" = _trimbench ]; then
    _clap_dynamic_completer_trimbench \"$@\"
else
    compdef _clap_dynamic_completer_trimbench trimbench
fi
";

/// Bash, whose words end at `:` and `=`: they are put together again.
struct WholeWords;

/// `$2` is the last part of the word before the cursor, and all that a reply replaces.
const BASH: &str = r#"_trimbench() {
    local IFS=$'\n' rest=$COMP_LINE words=() index word reply
    for index in "${!COMP_WORDS[@]}"; do
        word=${COMP_WORDS[index]}
        (( index == COMP_CWORD )) && word=$2
        if (( index )) && [[ $rest != [[:space:]]* ]]; then
            words[-1]+=$word
        else
            rest=${rest#"${rest%%[![:space:]]*}"}
            words+=("$word")
        fi
        rest=${rest:${#word}}
        (( index == COMP_CWORD )) && break
    done
    word=${words[-1]}
    COMPREPLY=()
    while read -r reply; do
        reply=${reply#"${word%"$2"}"}
        [[ $reply == *[[:space:]]* ]] && printf -v reply %q "$reply"
        COMPREPLY+=("$reply")
    done < <(VARIABLE=bash _CLAP_IFS=$'\n' _CLAP_COMPLETE_INDEX=$(( ${#words[@]} - 1 )) \
        trimbench -- "${words[@]}" && echo)
    [[ ${COMPREPLY[-1]-} ]] || unset 'COMPREPLY[-1]'
    [[ ${COMPREPLY-} =~ [=/:,]$ ]] || compopt +o nospace
}
complete -o nospace -o nosort -F _trimbench trimbench
"#;

impl EnvCompleter for WholeWords {
    fn name(&self) -> &'static str {
        Bash.name()
    }

    fn is(&self, name: &str) -> bool {
        Bash.is(name)
    }

    fn write_registration(
        &self,
        variable: &str,
        _: &str,
        _: &str,
        _: &str,
        script: &mut dyn Write,
    ) -> io::Result<()> {
        script.write_all(BASH.replace("VARIABLE", variable).as_bytes())
    }

    fn write_complete(
        &self,
        command: &mut Command,
        words: Vec<std::ffi::OsString>,
        folder: Option<&Path>,
        replies: &mut dyn Write,
    ) -> io::Result<()> {
        Bash.write_complete(command, words, folder, replies)
    }
}

fn candidate(value: impl Into<String>, help: &str) -> CompletionCandidate {
    let help = (!help.is_empty()).then(|| help.to_owned().into());
    CompletionCandidate::new(value.into()).help(help)
}

fn joined(lists: impl IntoIterator<Item = Vec<CompletionCandidate>>) -> Vec<CompletionCandidate> {
    lists.into_iter().flatten().collect()
}

/// Those that begin with what is there.
fn matching(
    all: impl IntoIterator<Item = CompletionCandidate>,
    current: &str,
) -> Vec<CompletionCandidate> {
    let all = all.into_iter();
    all.filter(|it| it.get_value().to_string_lossy().starts_with(current)).collect()
}

fn all_methods() -> Vec<CompletionCandidate> {
    METHODS.iter().map(|method| candidate(method.id, method.summary)).collect()
}

fn all_profiles() -> Vec<CompletionCandidate> {
    let summary = |name| Profile::built_in(name).map_or_else(String::new, |it| it.summary);
    BUILT_IN.iter().map(|it| candidate(it.name, &summary(it.name))).collect()
}

/// The methods.
pub(crate) fn methods() -> ArgValueCandidates {
    ArgValueCandidates::new(all_methods)
}

/// Methods and profiles.
pub(crate) fn names() -> ArgValueCandidates {
    ArgValueCandidates::new(|| joined([all_methods(), all_profiles()]))
}

/// The kinds of what is listed, and all of them.
pub(crate) fn listed() -> ArgValueCandidates {
    let kinds = || ["methods", "profiles"].map(|kind| candidate(kind, "")).into();
    ArgValueCandidates::new(move || joined([kinds(), all_methods(), all_profiles()]))
}

/// The presets.
pub(crate) fn presets() -> ArgValueCandidates {
    ArgValueCandidates::new(|| PRESETS.map(|preset| candidate(preset, "")).into())
}

/// The commands of which there is a man page.
pub(crate) fn commands() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let command = Args::command();
        let all =
            command.get_subcommands().flat_map(|it| [it].into_iter().chain(it.get_subcommands()));
        let about = |it: &Command| it.get_about().map_or_else(String::new, ToString::to_string);
        all.map(|it| candidate(it.get_name(), &about(it))).collect()
    })
}

/// Options of methods, each with its `=`.
pub(crate) fn options() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let mut all: Vec<CompletionCandidate> = Vec::new();
        for option in METHODS.iter().flat_map(|method: &MethodInfo| (method.options)()) {
            let key = format!("{}=", option.key);
            if !all.iter().any(|it| it.get_value() == key.as_str()) {
                all.push(candidate(key, option.help.lines().next().unwrap_or_default()));
            }
        }
        matching(all, &current.to_string_lossy())
    })
}

/// Profiles, and behind a comma what may be set of them.
pub(crate) fn profiles() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| profile("", &current.to_string_lossy()))
}

/// Targets: files, and emulated drives with and without a filesystem.
pub(crate) fn targets() -> ArgValueCompleter {
    ArgValueCompleter::new(target)
}

/// Both, as `run` takes them.
pub(crate) fn methods_and_targets() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        joined([matching(all_methods(), &current.to_string_lossy()), target(current)])
    })
}

fn target(current: &OsStr) -> Vec<CompletionCandidate> {
    let text = current.to_string_lossy();
    if let Some(at) = text.find(EMULATED) {
        let (before, name) = text.split_at(at + EMULATED.len());
        return profile(before, name);
    }
    let named = target_prefixes().map(|prefix| candidate(prefix, ""));
    joined([matching(named, &text), PathCompleter::any().complete(current)])
}

/// `name` is what stands behind `before`.
fn profile(before: &str, name: &str) -> Vec<CompletionCandidate> {
    let Some(comma) = name.rfind(',') else {
        let found = matching(all_profiles(), name);
        return found.into_iter().map(|it| it.add_prefix(before)).collect();
    };
    let (set, key) = name.split_at(comma + 1);
    let keys = profile_keys().into_iter().map(|(key, help)| candidate(format!("{key}="), &help));
    matching(keys, key).into_iter().map(|it| it.add_prefix(format!("{before}{set}"))).collect()
}
