//! Tests that reports have the same field names in the library and in the program.

use std::collections::BTreeSet;

use fpstore::Store;
use serde_json::{Value, json};

use super::{cases, dir};

pub fn names(object: &Value) -> BTreeSet<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn reports_have_the_names_of_the_table() {
    let table = cases();
    let dir = dir(&table, &table["cases"][0]);
    let info = json!(Store::open(dir.path("store.fps")).unwrap().info());
    let (segment, expected) = (&info["segments"][0], &table["names"]);
    for (name, object) in [("store", &info), ("segment", segment), ("table", &segment["tables"][0])]
    {
        let expected = expected[name].as_array().unwrap().iter().map(|name| name.as_str().unwrap());
        assert_eq!(names(object), expected.collect(), "{name}");
    }
    // The value of this field differs: the program prints the name of the store as the user wrote
    // it.
    let printed = dir.json(&["info", "store.fps"]);
    let path = printed["segments"][0]["path"].as_str().unwrap();
    assert_eq!(dir.path(path).display().to_string(), segment["path"]);
}
