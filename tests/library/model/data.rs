//! The random inputs of a world of stores: values, ids, labels and tables.

use crate::common::{Random, Record};
use fpstore::{Id, Scheme, SchemeChoice, Width};

/// Labels of the same form; labels sort in the order of expiry.
const LABELS: [&str; 4] = ["2026-08", "2026-09", "2026-10", "2026-11"];
/// A label that sorts after all labels above.
pub const AFTER_ALL: &str = "2027-01";

/// The distribution of the values.
#[derive(Clone, Copy, Debug)]
enum Spread {
    Uniform,
    /// Only the bits in `varying` vary, and occasionally another bit.
    Clumped {
        base: u64,
        varying: u64,
    },
    /// The lower or the upper half of each value is one of three numbers.
    Halves {
        halves: [u64; 3],
    },
    Sparse,
    /// Few distinct values, each repeated many times.
    Equal {
        count: u64,
    },
    Skewed,
}

impl Spread {
    fn random(random: &mut Random) -> Self {
        match random.below(9) {
            0 => Spread::Uniform,
            1..=4 => {
                let low = (1 << (9 + random.below(6))) - 1;
                let scattered = (0..12).fold(0_u64, |bits, _| bits | 1 << random.below(64));
                let varying = [low, scattered, 0x00ff_00ff_00ff_00ff][random.below(3) as usize];
                Spread::Clumped { base: random.next(), varying }
            }
            5 => Spread::Halves { halves: [random.next(), 0, u64::MAX] },
            6 => Spread::Sparse,
            7 => Spread::Equal { count: 1 + random.below(6) },
            _ => Spread::Skewed,
        }
    }

    fn value(self, random: &mut Random) -> u64 {
        match self {
            Spread::Uniform => random.next(),
            Spread::Clumped { base, varying } => {
                let clumped = base & !varying | random.next() & varying;
                match random.below(10) {
                    0..=5 => clumped,
                    6..=8 => clumped ^ 1 << random.below(64),
                    _ => random.next(),
                }
            }
            Spread::Halves { halves } => {
                let half = random.pick(&halves);
                match random.below(2) {
                    0 => half << 32 | random.next() >> 32,
                    _ => random.next() << 32 | half >> 32,
                }
            }
            Spread::Sparse => {
                let bits = random.below(4) as u32;
                random.flip(0, bits) ^ [0, u64::MAX][random.below(2) as usize]
            }
            Spread::Equal { count } => random.below(count).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            Spread::Skewed => match random.below(4) {
                0 => random.next() >> 20,
                1 => 0xabcd_0000_0000_0000 + random.below(5000),
                2 => random.below(4) << 62 | random.next() >> 50,
                _ => random.pick(&[0, u64::MAX, 1, 1 << 63, u64::MAX >> 1]),
            },
        }
    }
}

/// The kinds of ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ids {
    None,
    Numbers,
    Texts,
    /// Numbers, texts, numbers as decimal texts, and missing ids.
    Mixed,
}

/// The masks and the syndrome length for the tables of a segment.
#[derive(Clone, Debug)]
pub struct Tables {
    masks: Masks,
    syndrome_bits: u64,
    k: u32,
}

#[derive(Clone, Debug)]
enum Masks {
    /// The name of a family, perhaps with the name of a layout.
    Named(String),
    Listed(Vec<u64>),
}

impl Tables {
    fn random(random: &mut Random) -> Self {
        let k = [1, 2, 3, 3, 4, 6][random.below(6) as usize];
        let masks = match random.below(16) {
            0..=2 => Masks::Named("2".into()),
            3..=6 => {
                // Schemes with many tables are rare, because planning for them takes as long as a
                // thousand searches.
                let name = match random.below(12) {
                    0 => "8-for-4",
                    1 => "6-for-3",
                    2 => "5-for-3",
                    3 => "3-for-1",
                    _ => "4-for-2",
                };
                Masks::Named(format!("choose-{name}"))
            }
            7 if random.below(2) == 0 => {
                let names = ["6", "8", "11", "14", "15", "16", "hyperplanes"];
                Masks::Named(names[random.below(7) as usize].into())
            }
            7 | 8 => Masks::Named(["1", "3", "4"][random.below(3) as usize].into()),
            9 | 10 => Masks::Named(format!("blocks-{}", 1 + random.below(9))),
            11 => Masks::Named(["blocks-64", "blocks-30+20+14"][random.below(2) as usize].into()),
            12 => {
                let layout = ["live", "dealt", "sorted"][random.below(3) as usize];
                let name = ["2", "4", "choose-4-for-2"][random.below(3) as usize];
                Masks::Named(format!("{name}-{layout}"))
            }
            13 => Masks::Named("auto".into()),
            _ => {
                let mut masks: Vec<u64> =
                    (0..1 + random.below(3)).map(|_| random.next() | 1).collect();
                if random.below(2) == 0 {
                    masks.push(!masks[0]);
                }
                Masks::Listed(masks)
            }
        };
        Tables { masks, syndrome_bits: 0, k }.with_random_syndromes(random)
    }

    /// These masks, with a random syndrome length, or without syndromes.
    fn with_random_syndromes(&self, random: &mut Random) -> Self {
        let bits = if random.below(3) == 0 { 0 } else { 6 + random.below(16) };
        Tables { syndrome_bits: bits, ..self.clone() }
    }

    /// The scheme to build with; without syndromes if these masks do not allow them.
    pub fn choice(&self) -> SchemeChoice {
        let (k, bits) = (self.k, self.syndrome_bits);
        match &self.masks {
            Masks::Named(name) if name == "auto" => SchemeChoice::parse("auto", k, None).unwrap(),
            Masks::Named(name) => {
                let with = SchemeChoice::named(&format!("{name}-syndrome{bits}"), k);
                with.or_else(|_| SchemeChoice::named(name, k)).unwrap_or_default()
            }
            Masks::Listed(masks) => {
                let scheme = Scheme::from_masks(masks.clone(), k).unwrap();
                scheme.clone().with_syndromes(bits as u32).unwrap_or(scheme).into()
            }
        }
    }
}

/// Settings that all stores of a world have in common.
#[derive(Clone, Debug)]
pub struct Setting {
    pub width: Width,
    pub sketch_len: u8,
    pub labels: Vec<&'static str>,
    pub tables: Vec<Tables>,
    /// The distances of searches.
    pub ks: Vec<u32>,
    /// The maximum number of records of an ordinary addition, and of a large addition.
    pub additions: [u64; 2],
    spreads: [Spread; 2],
    ids: Ids,
}

impl Setting {
    pub fn random(random: &mut Random) -> Self {
        let bits = if random.below(4) == 0 { 8 * (1 + random.below(8)) } else { 64 };
        let first = Tables::random(random);
        let mut tables = vec![first.clone(), first.with_random_syndromes(random)];
        (0..random.below(3)).for_each(|_| tables.push(Tables::random(random)));
        let mut labels = LABELS[..1 + random.below(4) as usize].to_vec();
        // Not all worlds have unlabelled records: with them, a merged segment has no label.
        match random.below(3) {
            0 => labels.push(""),
            1 => {}
            _ => labels.extend(["", ""]),
        }
        let additions = [[12, 60], [60, 300], [300, 3000], [200, 12_000]][random.below(4) as usize];
        let sketch_len = if random.below(6) == 0 { 8 } else { 0 };
        let ids = [Ids::None, Ids::Numbers, Ids::Texts, Ids::Mixed][random.below(4) as usize];
        let ids = if sketch_len > 0 && ids != Ids::Numbers { Ids::Texts } else { ids };
        let ks =
            vec![2, 3, 2 + random.below(2) as u32, random.below(8) as u32, random.below(65) as u32];
        let width = Width::new(bits as u32).unwrap();
        // Often both distributions are equal: only then are all values dense, as some plans need.
        let first = Spread::random(random);
        let spreads = [first, if random.below(2) == 0 { first } else { Spread::random(random) }];
        Setting { width, sketch_len, labels, tables, ks, additions, spreads, ids }
    }

    /// Whether some records have no id.
    pub fn has_bare_records(&self) -> bool {
        matches!(self.ids, Ids::None | Ids::Mixed)
    }

    pub fn label(&self, random: &mut Random) -> &'static str {
        self.labels[random.below(self.labels.len() as u64) as usize]
    }

    pub fn choice(&self, random: &mut Random) -> SchemeChoice {
        self.tables[random.below(self.tables.len() as u64) as usize].choice()
    }

    /// A random value: near one of the known values, or from a distribution of the world.
    pub fn value(&self, known: &[u64], random: &mut Random) -> u64 {
        let value = if !known.is_empty() && random.below(4) == 0 {
            let (near, flips) = (random.pick(known), random.below(5) as u32);
            random.flip(near, flips)
        } else {
            self.spreads[random.below(2) as usize].value(random)
        };
        value & self.width.max().value()
    }

    /// A random needle: a known value, a value near a known value, a value from a distribution of
    /// the world, an extreme value, or any value.
    pub fn needle(&self, known: &[u64], k: u32, random: &mut Random) -> u64 {
        let value = match random.below(8) {
            0..=4 if !known.is_empty() => {
                let near = random.pick(known);
                let flips = random.below(u64::from(k.min(8)) + 2) as u32;
                random.flip(near, flips)
            }
            5 => random.next(),
            6 => random.pick(&[0, u64::MAX]),
            _ => self.value(known, random),
        };
        value & self.width.max().value()
    }

    /// A new id, or occasionally an earlier id; all numbers below `next` are earlier ids.
    pub fn id(&self, next: &mut u64, random: &mut Random) -> Option<Id> {
        let number = match random.below(8) {
            0 => random.below(*next + 1),
            _ => *next,
        };
        *next += 1;
        let text = || Id::Text(format!("page {number}").into());
        match (self.ids, random.below(4)) {
            (Ids::None, _) | (Ids::Mixed, 0) => None,
            (Ids::Numbers, _) | (Ids::Mixed, 1) => Some(Id::U64(number)),
            (Ids::Texts, _) | (Ids::Mixed, 2) => Some(text()),
            (Ids::Mixed, _) => Some(Id::Text(number.to_string().into())),
        }
    }

    pub fn records(
        &self,
        count: u64,
        known: &[u64],
        next_id: &mut u64,
        random: &mut Random,
    ) -> Vec<Record> {
        (0..count).map(|_| (self.value(known, random), self.id(next_id, random))).collect()
    }

    /// A random number of records to add: few, none, or occasionally many.
    pub fn record_count(&self, random: &mut Random) -> u64 {
        let [ordinary, large] = self.additions;
        match random.below(9) {
            0 => 0,
            1 => 1,
            2 | 3 => large / 2 + random.below(large / 2),
            _ => random.below(ordinary + 1),
        }
    }
}

/// The sketch of a record; empty if records have no sketches.
pub fn sketch(value: u64, id: &str, len: u8) -> Vec<u8> {
    let word = id.bytes().fold(value, |word, byte| (word ^ u64::from(byte)).rotate_left(9));
    word.to_le_bytes()[..usize::from(len)].to_vec()
}
