//! How sizes are shown.

use trimbench_core::Bytes;
use trimbench_results::number::quantity;

/// A size: exact in binary units where it has one, else with the unit that suits it.
pub(crate) fn size(bytes: u64) -> String {
    let exact = Bytes(bytes).to_string();
    if exact.ends_with("iB") && exact.len() <= "1023GiB".len() {
        return exact;
    }
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    quantity(bytes as f64, "bytes")
}
