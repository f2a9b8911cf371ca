//! The help of `--scheme`, from the families that the library knows.

use fpstore::plan::FAMILIES;

/// The long help of `--scheme`: every name with the masks that it stands for.
pub(super) fn scheme_help() -> String {
    let mut help = String::from(
        "The tables: auto, a name or a file of masks\n\n\
         auto is the fastest scheme for the fingerprints and -k within --budget. A file has one \
         mask on each line, in hex. More tables are larger and mostly faster. The names:\n\n",
    );
    for family in FAMILIES {
        let name = match family.alias {
            Some(alias) => format!("{}, {alias}", family.name),
            None => family.name.into(),
        };
        help += &format!("  {name:<20} {}\n", family.about);
    }
    help + "\nWith -live, -dealt or -sorted after a name the masks are cut from the bits that vary in \
            the data; 'fpstore plan --sample' compares them"
}
