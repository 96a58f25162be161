//! Plain tables on the terminal.

use comfy_table::{CellAlignment, Table, presets};

/// A table without lines; columns named in `right` hold numbers and stand to the right.
pub(crate) fn plain<const N: usize>(
    header: [&str; N],
    right: &[&str],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header);
    table.add_rows(rows);
    for (index, name) in header.iter().enumerate() {
        if let Some(column) = table.column_mut(index).filter(|_| right.contains(name)) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}
