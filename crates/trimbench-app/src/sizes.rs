//! The user's own sizes: what lies below the directory that is measured is what will be deleted.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

use trimbench_core::Bytes;
use trimbench_engine::MethodDefinition as _;
use trimbench_linux::{DirectoryTarget, FileSizes, LookLimits};
use trimbench_methods::delete_stall::DeleteStall;
use trimbench_results::number::quantity;

use crate::failure::Failure;
use crate::options::PlanOptions;

/// Of the free space so much is filled at the most: the load needs some, and others write.
const OF_ROOM: u64 = 2;

/// Looks at the sizes of the files below the one directory that is measured, and has deletions of
/// the typical and the largest measured. What was found, in a sentence without a full stop.
///
/// # Errors
/// If there is not one directory, or nothing in it.
pub fn ask_for_sizes_below(options: &mut PlanOptions) -> Result<String, Failure> {
    let directories: Vec<&Path> =
        options.targets.iter().map(Path::new).filter(|path| path.is_dir()).collect();
    let [directory] = directories[..] else {
        let error = anyhow::anyhow!("`--deletes scan` looks below one directory that is measured");
        return Err(Failure::usage(error).with_hint("name it: `--target DIR`"));
    };
    let shown = directory.display().to_string();
    let found = FileSizes::below(directory, LookLimits::default()).map_err(|errno| {
        Failure::target(anyhow::anyhow!("cannot look below `{shown}`: {errno}"))
    })?;
    let Some(found) = found else {
        let error = anyhow::anyhow!("no file below `{shown}` takes any space");
        let hint = "say what is deleted there, as `--deletes 1GiB`";
        return Err(Failure::usage(error).with_hint(hint));
    };
    let room =
        DirectoryTarget::room_in(directory).map_or(found.largest, |room| Bytes(room.0 / OF_ROOM));
    let measured = found.largest.min(room).max(DeleteStall::SIZE_MIN);
    let stated = found.largest.max(DeleteStall::SIZE_MIN);
    // Only its slope says what a larger deletion costs than those that there is room for.
    let has_slope = options.methods.is_empty()
        || options.methods.iter().any(|method| method == DeleteStall::INFO.id);
    let set = if has_slope {
        let sizes = DeleteStall::sizes_with(found.typical, measured);
        vec![format!("deletes={stated}"), format!("sizes={sizes}")]
    } else {
        vec![format!("deletes={measured}")]
    };
    options.settings.extend(set.into_iter().map(OsString::from));
    Ok(sentence(&shown, &found, measured))
}

/// What was found, and what of it is measured.
fn sentence(directory: &str, found: &FileSizes, measured: Bytes) -> String {
    let bytes = |bytes: Bytes| quantity(bytes.0 as f64, "B");
    let mut text = format!(
        "below `{directory}`: {} files, {} in all; half of it lies in files of {} or more; the \
         largest takes {}",
        trimbench_results::number::count(found.files),
        bytes(found.bytes),
        bytes(found.typical),
        bytes(found.largest)
    );
    if measured < found.largest {
        let _ = write!(
            text,
            "; there is room for deletions of up to {}, from which larger ones are extrapolated",
            bytes(measured)
        );
    }
    if !found.is_complete {
        text += "; there are more, which were not looked at";
    }
    if found.unread > 0 {
        let _ = write!(text, "; {} directories cannot be read", found.unread);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_says_what_was_found_and_what_of_it_was_not_looked_at_or_has_no_room() {
        let found = FileSizes {
            files: 1_234,
            bytes: Bytes::gib(12),
            typical: Bytes::gib(1),
            largest: Bytes::gib(4),
            unread: 0,
            is_complete: true,
        };
        let said = "below `/srv`: 1,234 files, 12.9 GB in all; half of it lies in files of 1.07 GB \
                    or more; the largest takes 4.29 GB";
        assert_eq!(sentence("/srv", &found, found.largest), said);
        let part = FileSizes { unread: 2, is_complete: false, ..found };
        let more = "; there is room for deletions of up to 2.15 GB, from which larger ones are \
                    extrapolated; there are more, which were not looked at; 2 directories cannot \
                    be read";
        assert_eq!(sentence("/srv", &part, Bytes::gib(2)), format!("{said}{more}"));
    }
}
