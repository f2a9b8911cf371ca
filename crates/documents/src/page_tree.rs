//! The tree of a page in HTML, built within limits.
//!
//! The extractor of the main text visits the descendants of nearly every node, so its time grows
//! with the sum of the depths of all nodes, and it recurses as deep as the tree. The parser walks
//! its stack of open elements at every tag. A hostile page of a megabyte would keep both busy for
//! hours. So the page is parsed in small pieces, and the parser is stopped at the first limit that
//! the tree exceeds. Ordinary pages are far below the limits.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use dom_query::{Document, NodeId};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::{ElementFlags, NodeOrText, QuirksMode, TreeBuilderOpts, TreeSink};
use html5ever::{Attribute, ParseOpts, QualName, parse_document};

/// Bytes passed to the parser at a time.
const PIECE_LEN: usize = 1 << 14;
/// Maximum depth of an element, the same as in browsers.
const DEPTH_MAX: u32 = 512;
/// A page may have one node or attribute per this many bytes of the maximum document length.
const LEN_PER_NODE: u64 = 64;
/// The limit for the sum of the depths of all nodes: a base, plus an amount for each byte of the
/// page. Pages of 5 kB to 10 MB written by people have a sum of 0.2 to 1.5 for each byte.
const WORK_BASE: u64 = 1 << 20;
const WORK_PER_BYTE: u64 = 8;
/// The maximum number of gaps between words in a tag or comment: the parser compares each attribute
/// of a tag with all attributes before it.
const GAPS_MAX: usize = 1 << 15;
/// The maximum number of attributes in repeated tags of `html` and `body`: each is compared with
/// all others of the element.
const ADDED_ATTRS_MAX: usize = 1 << 10;

/// The tree of a page, as `Document::from` builds it, or the reason why the page is refused.
///
/// `len_max` is the maximum length of a document; the number of nodes of a page is limited in
/// proportion.
pub(super) fn parse(html: &str, len_max: u64) -> Result<Document, String> {
    let limits = Limits {
        nodes: (len_max / LEN_PER_NODE).max(1 << 10),
        work: WORK_BASE + WORK_PER_BYTE * html.len() as u64,
    };
    let options = ParseOpts {
        tree_builder: TreeBuilderOpts { scripting_enabled: false, ..Default::default() },
        ..Default::default()
    };
    let mut parser = parse_document(LimitedTree::new(limits), options);
    let mut rest = html;
    let mut gaps = 0;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE_LEN.min(rest.len())));
        rest = after;
        let tree = &parser.tokenizer.sink.sink;
        let calls = tree.calls.get();
        parser.process(StrTendril::from(piece));
        let tree = &parser.tokenizer.sink.sink;
        if let Some(fault) = tree.fault.take() {
            return Err(fault);
        }
        // If a piece causes no call, the parser is within a tag or comment, and gaps add up.
        let piece_gaps = piece.bytes().filter(|byte| byte.is_ascii_whitespace() || *byte == b'/');
        let before = if tree.calls.get() == calls { gaps } else { 0 };
        gaps = before + piece_gaps.count();
        if gaps > GAPS_MAX {
            return Err(format!("a tag or comment has more than {GAPS_MAX} attributes or words"));
        }
    }
    let tree = parser.finish();
    tree.fault.take().map_or(Ok(()), Err)?;
    tree.check_whole()?;
    Ok(tree.document)
}

#[derive(Clone, Copy)]
struct Limits {
    /// The maximum number of nodes and attributes.
    nodes: u64,
    /// The maximum sum of the depths of all nodes.
    work: u64,
}

/// The tree of a page, which records an exceeded limit.
struct LimitedTree {
    document: Document,
    limits: Limits,
    depths: RefCell<HashMap<NodeId, u32>>,
    nodes: Cell<u64>,
    work: Cell<u64>,
    added_attrs: Cell<usize>,
    /// The number of calls that the parser has made.
    calls: Cell<u64>,
    fault: Cell<Option<String>>,
}

impl LimitedTree {
    fn new(limits: Limits) -> Self {
        LimitedTree {
            document: Document::default(),
            limits,
            depths: RefCell::default(),
            nodes: Cell::new(0),
            work: Cell::new(0),
            added_attrs: Cell::new(0),
            calls: Cell::new(0),
            fault: Cell::new(None),
        }
    }

    fn call(&self) -> &Document {
        self.calls.set(self.calls.get() + 1);
        &self.document
    }

    fn add_nodes(&self, count: usize) {
        self.nodes.set(self.nodes.get() + count as u64);
        if self.nodes.get() > self.limits.nodes {
            self.fault.set(Some(format!(
                "the page has more than {} elements and attributes; to allow more, raise \
                 --max-document",
                self.limits.nodes
            )));
        }
    }

    /// Counts a child at `depth`. Nodes moved by the parser keep their counted depth.
    fn place(&self, child: &NodeOrText<NodeId>, depth: u32) {
        if let NodeOrText::AppendNode(id) = child {
            self.depths.borrow_mut().insert(*id, depth);
        } else {
            self.add_nodes(1);
        }
        self.work.set(self.work.get() + u64::from(depth));
        let judged = judge(depth, self.work.get(), self.limits.work);
        if let Err(fault) = judged {
            self.fault.set(Some(fault));
        }
    }

    fn depth_of(&self, node: &NodeId) -> u32 {
        self.depths.borrow().get(node).copied().unwrap_or(0)
    }

    /// Measures the finished tree, in which moved nodes may be deeper than counted.
    fn check_whole(&self) -> Result<(), String> {
        let (mut depth, mut work) = (0_u32, 0_u64);
        let tree = &self.document.tree;
        let mut next = tree.first_child_of(&tree.root_id());
        while let Some(node) = next {
            work += u64::from(depth);
            judge(depth, work, self.limits.work)?;
            next = tree.first_child_of(&node.id);
            if next.is_some() {
                depth += 1;
                continue;
            }
            let mut last = Some(node);
            while let Some(node) = last.take() {
                next = tree.next_sibling_of(&node.id);
                if next.is_none() && depth > 0 {
                    depth -= 1;
                    last = tree.parent_of(&node.id);
                }
            }
        }
        Ok(())
    }
}

fn judge(depth: u32, work: u64, work_max: u64) -> Result<(), String> {
    if depth > DEPTH_MAX {
        return Err(format!("elements are nested more than {DEPTH_MAX} deep"));
    }
    if work > work_max {
        return Err("too many elements are nested too deep for the length of the page".into());
    }
    Ok(())
}

impl TreeSink for LimitedTree {
    type ElemName<'a> = <Document as TreeSink>::ElemName<'a>;
    type Output = Self;
    type Handle = NodeId;

    fn finish(self) -> Self {
        self
    }

    /// Pages are full of parse errors, which are not reported.
    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> NodeId {
        self.call().get_document()
    }

    fn get_template_contents(&self, target: &NodeId) -> NodeId {
        let contents = self.call().get_template_contents(target);
        // Template contents are not a child node, but their depth counts.
        let depth = self.depth_of(target);
        self.depths.borrow_mut().insert(contents, depth);
        contents
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.call().set_quirks_mode(mode);
    }

    fn same_node(&self, x: &NodeId, y: &NodeId) -> bool {
        x == y
    }

    fn elem_name<'a>(&'a self, target: &'a NodeId) -> Self::ElemName<'a> {
        self.call().elem_name(target)
    }

    fn create_element(&self, name: QualName, attrs: Vec<Attribute>, flags: ElementFlags) -> NodeId {
        self.add_nodes(1 + attrs.len());
        self.call().create_element(name, attrs, flags)
    }

    fn create_comment(&self, text: StrTendril) -> NodeId {
        self.add_nodes(1);
        self.call().create_comment(text)
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> NodeId {
        self.add_nodes(1);
        self.call().create_pi(target, data)
    }

    fn append(&self, parent: &NodeId, child: NodeOrText<NodeId>) {
        self.place(&child, self.depth_of(parent) + 1);
        self.call().append(parent, child);
    }

    fn append_before_sibling(&self, sibling: &NodeId, child: NodeOrText<NodeId>) {
        self.place(&child, self.depth_of(sibling));
        self.call().append_before_sibling(sibling, child);
    }

    fn append_based_on_parent_node(
        &self,
        element: &NodeId,
        prev_element: &NodeId,
        child: NodeOrText<NodeId>,
    ) {
        self.place(&child, self.depth_of(element).max(self.depth_of(prev_element) + 1));
        self.call().append_based_on_parent_node(element, prev_element, child);
    }

    fn append_doctype_to_document(&self, name: StrTendril, public: StrTendril, system: StrTendril) {
        self.call().append_doctype_to_document(name, public, system);
    }

    fn add_attrs_if_missing(&self, target: &NodeId, attrs: Vec<Attribute>) {
        self.added_attrs.set(self.added_attrs.get() + attrs.len());
        if self.added_attrs.get() > ADDED_ATTRS_MAX {
            self.fault.set(Some(format!(
                "repeated tags of html and body have more than {ADDED_ATTRS_MAX} attributes"
            )));
        }
        self.call().add_attrs_if_missing(target, attrs);
    }

    fn remove_from_parent(&self, target: &NodeId) {
        self.call().remove_from_parent(target);
    }

    fn reparent_children(&self, node: &NodeId, new_parent: &NodeId) {
        self.call().reparent_children(node, new_parent);
    }

    fn is_mathml_annotation_xml_integration_point(&self, handle: &NodeId) -> bool {
        self.call().is_mathml_annotation_xml_integration_point(handle)
    }
}
