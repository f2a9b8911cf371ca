//! Weights from tables and lists, and damaged tables.

use super::*;

#[test]
fn weights_come_from_tables_and_lists() {
    let counted = VoteRules { count: CountWeight::Count, ..VoteRules::default() };
    let weighed = |rules| TextRecipe { shingle: 1, method: voting(rules), ..words_recipe() };
    let base = weighed(counted);
    let texts = ["the cat sat", "the dog sat", "the bird flew", "a"];
    let mut plain = TextHasher::new(&base).unwrap();
    let mut builder = DfBuilder::new(&base);
    texts.iter().for_each(|text| builder.add(&mut plain, text));
    builder.add(&mut plain, "");
    let table = builder.finish(2);
    assert_eq!((table.document_count(), table.entry_count()), (4, 2));
    let mut bytes = Vec::new();
    table.write_to(&mut bytes).unwrap();
    assert_eq!(DfTable::from_bytes(&bytes, "a.df").unwrap(), table);
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        assert!(DfTable::from_bytes(&damaged, "a.df").is_err(), "byte {at}");
        assert!(DfTable::from_bytes(&bytes[..at], "a.df").is_err(), "cut at {at}");
    }

    let mut recipe = base.clone();
    let resources = TextResources::default().df_table(table.clone());
    resources.name_in(&mut recipe).unwrap();
    let by_idf = VoteRules { factor: Factor::Idf(table.id()), ..counted };
    assert_eq!(recipe, weighed(by_idf));
    // MinHash does not support weights.
    let mut minhash = TextRecipe { method: Method::MinHash, ..base.clone() };
    let error = resources.name_in(&mut minhash).unwrap_err().to_string();
    assert!(error.contains("minhash") && error.contains("simhash"), "{error}");
    let mut hasher = TextHasher::with_resources(&recipe, resources.clone()).unwrap();
    let hash = |word: &str| base.hash.of(word.as_bytes());
    // log2(1 + 4/3), log2(1 + 4/2), log2(1 + 4).
    let idf = |numerator, denominator| Weight::log2_ratio(numerator, denominator);
    let features = [
        (hash("the"), idf(7, 3).times(Weight::whole(2))),
        (hash("sat"), idf(6, 2)),
        (hash("new"), idf(5, 1)),
    ];
    let expected = slow_simhash(&features, TieRule::Zero);
    assert_eq!(value(hasher.fingerprint("The sat the new")), expected);
    // With `top` 1, the heaviest feature alone decides.
    let recipe = weighed(VoteRules { top: Some(1), ..by_idf });
    let mut hasher = TextHasher::with_resources(&recipe, resources.clone()).unwrap();
    assert_eq!(value(hasher.fingerprint("sat new")), Some(hash("new")));
    // A table for other features is rejected, and so is a missing table.
    let other = TextRecipe { shingle: 2, ..recipe.clone() };
    let error = TextHasher::with_resources(&other, resources).unwrap_err().to_string();
    assert!(error.contains("shingle=1") && error.contains("shingle=2"), "{error}");
    assert!(TextHasher::new(&recipe).unwrap_err().to_string().contains("none was given"));

    let list = GivenWeights::from_list("cat\t5\ndog\t3\n", "weights").unwrap();
    let recipe = weighed(VoteRules { factor: Factor::Given(list.id()), ..counted });
    let resources = TextResources::default().weights(list);
    let mut hasher = TextHasher::with_resources(&recipe, resources).unwrap();
    let features = [
        (hash("cat"), Weight::whole(5)),
        (hash("dog"), Weight::whole(6)),
        (hash("x"), Weight::ONE),
    ];
    let expected = slow_simhash(&features, TieRule::Zero);
    assert_eq!(value(hasher.fingerprint("cat dog x dog")), expected);
    // Capitals in the list and in the text.
    let list = GivenWeights::from_list("Cat \t5\nDOG\t3\n", "weights").unwrap();
    let resources = TextResources::default().weights(list);
    let mut named = weighed(VoteRules { ..counted });
    resources.name_in(&mut named).unwrap();
    assert_eq!(named, recipe);
    let mut hasher = TextHasher::with_resources(&named, resources).unwrap();
    assert_eq!(value(hasher.fingerprint("cat dog x dog")), expected);
    let list = GivenWeights::from_list("Cat\t5\ncat\t3\n", "weights").unwrap();
    let error = TextResources::default().weights(list).name_in(&mut named).unwrap_err().to_string();
    assert!(
        error.contains("'cat' has weight 3")
            && error.contains("another spelling of 'cat' has weight 5"),
        "{error}"
    );
    for bad in ["cat", "cat\t6", "cat\t0", "cat\t1.5", "cat\t1\ncat\t2"] {
        let error = GivenWeights::from_list(bad, "weights").unwrap_err().to_string();
        assert!(error.starts_with("weights: line "), "{error}");
    }
}

/// The number of the rule listed with this phrase in the index of docs/recipe-spec.md.
fn df_rule(phrase: &str) -> u8 {
    let spec = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/recipe-spec.md");
    let spec = std::fs::read_to_string(spec).unwrap();
    let row = spec.lines().find(|line| line.starts_with("| D-") && line.contains(phrase));
    let cell = row.unwrap_or_else(|| panic!("no rule on {phrase}")).split('|').nth(1).unwrap();
    cell.trim().strip_prefix("D-").unwrap().parse().unwrap()
}

/// A table with a changed field and a correct checksum, so that only the given rule is violated.
#[test]
fn each_broken_rule_of_a_df_file_is_named_as_in_the_specification() {
    let base = words_recipe();
    let mut hasher = TextHasher::new(&base).unwrap();
    let mut builder = DfBuilder::new(&base);
    builder.add(&mut hasher, "one two three");
    let mut bytes = Vec::new();
    builder.finish(1).write_to(&mut bytes).unwrap();
    assert!(DfTable::from_bytes(&bytes, "a.df").is_ok());
    let text_len = u64::from(bytes[12]);
    let entries = 32 + text_len;
    let len = bytes.len() as u64;
    let [magic, version, lengths, ascend, range, crc, reserved, text] =
        ["magic", "version", "lengths", "ascend", "range", "CRC", "reserved", "the text"]
            .map(df_rule);
    // The rule, the first byte to change, the new bytes, and the position in the error.
    for (rule, at, new, place) in [
        (magic, 0, &b"?"[..], 0),
        (version, 8, &[2], 8),
        (reserved, 10, &[1], 10),
        (lengths, 24, &[3], 12),
        (lengths, 12, &[0, 0, 0, 0xff], 12),
        (text, 33, &[0xff], 33),
        (ascend, entries + 12, &[0; 8], entries + 12),
        (range, entries + 8, &[0], entries + 8),
        (range, entries + 8, &[2], entries + 8),
        (crc, len - 1, &[0], len - 4),
    ] {
        let mut damaged = bytes.clone();
        damaged[at as usize..at as usize + new.len()].copy_from_slice(new);
        if rule != crc {
            let end = damaged.len() - 4;
            let right = crc32fast::hash(&damaged[..end]);
            damaged[end..].copy_from_slice(&right.to_le_bytes());
        } else {
            damaged[at as usize] = !bytes[at as usize];
        }
        if rule == text || rule == lengths {
            // The checksum is checked before the lengths, and the lengths before the text.
            let mut both = damaged.clone();
            *both.last_mut().unwrap() ^= 1;
            let error = DfTable::from_bytes(&both, "a.df").unwrap_err().to_string();
            assert!(error.ends_with(&format!("(D-{crc})")), "{error}");
        }
        match DfTable::from_bytes(&damaged, "a.df") {
            Err(Error::DamagedTable { path, offset, rule: found, .. }) => {
                assert_eq!((path.as_path(), offset, found), (Path::new("a.df"), place, rule));
            }
            other => panic!("rule D-{rule}: {other:?}"),
        }
    }
}
