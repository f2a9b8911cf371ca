//! The sets that a pass compares, with their tokens. Tokens are computed from the features in the
//! first pass. For further passes they are kept in a temporary file, because they are several times
//! shorter than the features, and computing them takes longer than most comparisons.

use std::ops::Range;

use super::postings::Known;
use super::prefixes::{
    FeatureSets, Outline, Prefixes, Rarity, Token, count_within, each_set, len_of,
};
use crate::base::error::Result;
use fpstore_disk::{ScratchFile, ScratchFolder};

/// Maximum number of sets in a block.
const BLOCK_COUNT: usize = if cfg!(test) { 8 } else { 1 << 14 };
/// Maximum number of features in a block, unless its only set has more.
const BLOCK_LEN: usize = if cfg!(test) { 100 } else { 1 << 21 };
/// The number of sets in a piece of a token file, which is read at once by one thread.
const PIECE_COUNT: usize = if cfg!(test) { 2 } else { 1 << 8 };

/// Sets with their outlines and tokens.
#[derive(Default)]
pub(super) struct KnownSets {
    /// The number of each set, the number of its features, and the number of its tokens.
    sets: Vec<(u32, u32, u32)>,
    bits: Vec<u64>,
    tokens: Vec<Token>,
}

impl KnownSets {
    pub(super) fn push(&mut self, set: u32, (outline, tokens): Known<'_>) {
        self.sets.push((set, outline.len as u32, tokens.len() as u32));
        self.bits.extend_from_slice(outline.bits);
        self.tokens.extend_from_slice(tokens);
    }

    pub(super) fn each(&self) -> impl Iterator<Item = (u32, Known<'_>)> {
        let (mut bits, mut tokens) = (self.bits.as_slice(), self.tokens.as_slice());
        self.sets.iter().map(move |&(set, len, count)| {
            let (len, count) = (len as usize, count as usize);
            let (own_bits, own);
            (own_bits, bits) = bits.split_at(Outline::word_count(len));
            (own, tokens) = tokens.split_at(count);
            (set, (Outline { len, bits: own_bits }, own))
        })
    }
}

/// The sets of a further pass in a temporary file. It consists of 64-bit words: for each set two
/// words with its number, its number of features and of tokens; its outline; one for each token.
pub(super) struct TokenFile<'a> {
    folder: &'a ScratchFolder,
    file: Option<ScratchFile>,
    /// The words of the last piece, which are not in the file yet.
    words: Vec<u64>,
    set_count: usize,
    feature_count: usize,
    /// The end of each piece in the file, in bytes.
    ends: Vec<u64>,
}

impl<'a> TokenFile<'a> {
    pub(super) fn new(folder: &'a ScratchFolder) -> Self {
        let (words, ends) = (Vec::new(), Vec::new());
        TokenFile { folder, file: None, words, set_count: 0, feature_count: 0, ends }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.set_count == 0
    }

    pub(super) fn push(&mut self, set: u32, (outline, tokens): Known<'_>) -> Result<()> {
        let Outline { len, bits } = outline;
        self.words.extend([u64::from(set) << 32 | len as u64, tokens.len() as u64]);
        self.words.extend_from_slice(bits);
        let word = |token: &Token| u64::from(token.check) << 32 | u64::from(token.place);
        self.words.extend(tokens.iter().map(word));
        self.feature_count += len;
        self.set_count += 1;
        if self.set_count.is_multiple_of(PIECE_COUNT) { self.end_piece() } else { Ok(()) }
    }

    /// Moves the words of the last piece to the file. Call this after the last set.
    pub(super) fn end_piece(&mut self) -> Result<()> {
        if !self.words.is_empty() {
            let file = match &mut self.file {
                Some(file) => file,
                none => none.insert(ScratchFile::create(self.folder)?),
            };
            file.append(bytemuck::cast_slice(&self.words))?;
            self.ends.push(file.len());
            self.words.clear();
        }
        Ok(())
    }

    /// Replaces the contents of `words` by the words of a piece.
    fn read(&self, piece: usize, words: &mut Vec<u64>) -> Result<()> {
        let start = piece.checked_sub(1).map_or(0, |before| self.ends[before]);
        words.resize((self.ends[piece] - start) as usize / size_of::<u64>(), 0);
        let file = self.file.as_ref().expect("a file with pieces");
        Ok(file.read_at(bytemuck::cast_slice_mut(words), start)?)
    }
}

/// The sets that a pass compares.
pub(super) enum PassSets<'a> {
    /// The numbers of sets whose tokens are computed from their features.
    Unknown(&'a [u32], &'a Rarity),
    /// Sets whose tokens were computed by an earlier pass.
    Known(&'a TokenFile<'a>),
}

impl PassSets<'_> {
    pub(super) fn feature_count(&self, sets: &(impl FeatureSets + ?Sized)) -> usize {
        match self {
            PassSets::Unknown(numbers, _) => numbers.iter().map(|&set| len_of(sets, set)).sum(),
            PassSets::Known(file) => file.feature_count,
        }
    }

    /// The blocks of the pass: ranges of sets, or of pieces of the file.
    pub(super) fn blocks(&self, sets: &(impl FeatureSets + ?Sized)) -> Vec<Range<usize>> {
        let count = match self {
            PassSets::Unknown(numbers, _) => numbers.len(),
            PassSets::Known(file) => file.ends.len(),
        };
        let (mut blocks, mut start) = (Vec::new(), 0);
        while start < count {
            let end = match self {
                PassSets::Unknown(numbers, _) => {
                    let most = count.min(start + BLOCK_COUNT);
                    start + count_within(sets, &numbers[start..most], BLOCK_LEN)
                }
                PassSets::Known(_) => count.min(start + BLOCK_COUNT / PIECE_COUNT),
            };
            blocks.push(start..end);
            start = end;
        }
        blocks
    }

    /// Calls `each` with each set in a part of a block: its number, its features, which are left
    /// out if they were not read, and its outline and tokens.
    pub(super) fn each(
        &self,
        part: Range<usize>,
        sets: &(impl FeatureSets + ?Sized),
        prefixes: Prefixes,
        mut each: impl FnMut(u32, &[u64], Known<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut tokens = Vec::new();
        match self {
            PassSets::Unknown(numbers, rarity) => {
                let (mut ordered, mut bits) = (Vec::new(), Vec::new());
                each_set(sets, &numbers[part], |set, features| {
                    prefixes.tokens(features, rarity, &mut ordered, &mut tokens);
                    each(set, features, (Outline::of(features, &mut bits), &tokens))
                })
            }
            PassSets::Known(file) => {
                let mut words = Vec::new();
                for piece in part {
                    file.read(piece, &mut words)?;
                    let mut left = words.as_slice();
                    while let [first, count, others @ ..] = left {
                        let len = *first as u32 as usize;
                        let (bits, others) = others.split_at(Outline::word_count(len));
                        let (own, next) = others.split_at(*count as usize);
                        let token =
                            |&word: &u64| Token { check: (word >> 32) as u32, place: word as u32 };
                        tokens.clear();
                        tokens.extend(own.iter().map(token));
                        let known = (Outline { len, bits }, tokens.as_slice());
                        each((first >> 32) as u32, &[], known)?;
                        left = next;
                    }
                }
                Ok(())
            }
        }
    }
}
