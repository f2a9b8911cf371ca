//! The imports between the files of a crate, parsed from the source.
//!
//! An import leads from a file that uses a name to the file that defines it; re-exports are
//! followed to the definition. Tests and names of other crates are ignored, because cargo itself
//! forbids cycles between crates.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

/// A module of a crate: a file, or an inline module.
struct Module {
    file: PathBuf,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    /// The names that the module itself defines.
    items: BTreeSet<String>,
    /// The names that the module imports or re-exports, each with its path.
    uses: Vec<(String, Vec<String>)>,
    /// The paths of the glob imports of the module.
    globs: Vec<Vec<String>>,
    /// All paths that occur in the code of the module.
    paths: BTreeSet<Vec<String>>,
}

/// The modules of a crate; the first module is the root.
pub struct Crate {
    modules: Vec<Module>,
}

/// The imports between files: importing file, imported file, imported names.
pub type Imports = BTreeMap<(PathBuf, PathBuf), BTreeSet<String>>;

impl Crate {
    pub fn read(root: &Path) -> Crate {
        let mut read = Crate { modules: Vec::new() };
        let folder = root.parent().unwrap();
        let items = syn::parse_file(&fs::read_to_string(root).unwrap()).unwrap().items;
        read.push(root, folder, None, items);
        read
    }

    fn push(
        &mut self,
        file: &Path,
        folder: &Path,
        parent: Option<usize>,
        items: Vec<syn::Item>,
    ) -> usize {
        let index = self.modules.len();
        self.modules.push(Module {
            file: file.into(),
            parent,
            children: BTreeMap::new(),
            items: BTreeSet::new(),
            uses: Vec::new(),
            globs: Vec::new(),
            paths: BTreeSet::new(),
        });
        for item in items.into_iter().filter(|item| !is_test(attributes(item))) {
            match item {
                syn::Item::Mod(module) => {
                    let name = module.ident.to_string();
                    let below = folder.join(&name);
                    let child = match module.content {
                        Some((_, items)) => self.push(file, &below, Some(index), items),
                        None => {
                            let file = [below.with_extension("rs"), below.join("mod.rs")];
                            let file = file.into_iter().find(|file| file.exists()).unwrap();
                            let text = fs::read_to_string(&file).unwrap();
                            let items = syn::parse_file(&text).unwrap().items;
                            self.push(&file, &below, Some(index), items)
                        }
                    };
                    self.modules[index].children.insert(name, child);
                }
                syn::Item::Use(item) => self.modules[index].import(Vec::new(), &item.tree),
                item => {
                    self.modules[index].items.extend(name_of(&item));
                    self.modules[index].visit_item(&item);
                }
            }
        }
        index
    }

    /// The imports of all files of the crate.
    pub fn imports(&self) -> Imports {
        let mut imports = Imports::new();
        for (index, module) in self.modules.iter().enumerate() {
            let used = module.uses.iter().map(|(_, path)| path);
            let globs = module.globs.iter();
            for path in used.chain(globs).chain(&module.paths) {
                if let Some(target) = self.find(index, path, 0)
                    && self.modules[target].file != module.file
                {
                    let arrow = (module.file.clone(), self.modules[target].file.clone());
                    imports.entry(arrow).or_default().insert(path.last().unwrap().clone());
                }
            }
        }
        imports
    }

    /// The module that defines the item that `path` names in the module `from`; `None` if `path` is
    /// a module or is in another crate.
    fn find(&self, from: usize, path: &[String], depth: usize) -> Option<usize> {
        let (first, rest) = path.split_first()?;
        if depth > 20 {
            return None;
        }
        let module = &self.modules[from];
        match first.as_str() {
            "crate" => return self.find(0, rest, depth + 1),
            "self" => return self.find(from, rest, depth + 1),
            "super" => return self.find(module.parent?, rest, depth + 1),
            _ => {}
        }
        if let Some(&child) = module.children.get(first) {
            return self.find(child, rest, depth + 1);
        }
        if module.items.contains(first) {
            return Some(from);
        }
        if let Some((_, target)) = module.uses.iter().find(|(name, _)| name == first) {
            // An import from another crate can look like an import of itself: following it would
            // never end.
            let target: Vec<String> = target.iter().chain(rest).cloned().collect();
            return (target != path).then(|| self.find(from, &target, depth + 1)).flatten();
        }
        let of_glob = |glob: &Vec<String>| {
            let target: Vec<String> = glob.iter().chain(path).cloned().collect();
            self.find(from, &target, depth + 1)
        };
        module.globs.iter().find_map(of_glob)
    }
}

impl Module {
    fn import(&mut self, mut path: Vec<String>, tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(tree) => {
                path.push(tree.ident.to_string());
                self.import(path, &tree.tree);
            }
            syn::UseTree::Name(name) => {
                let name = name.ident.to_string();
                if name == "self" {
                    let name = path.last().unwrap().clone();
                    self.uses.push((name, path));
                } else {
                    path.push(name.clone());
                    self.uses.push((name, path));
                }
            }
            syn::UseTree::Rename(rename) => {
                path.push(rename.ident.to_string());
                self.uses.push((rename.rename.to_string(), path));
            }
            syn::UseTree::Glob(_) => self.globs.push(path),
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.import(path.clone(), tree));
            }
        }
    }
}

impl<'ast> Visit<'ast> for Module {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> =
            path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        // A single name is defined or imported in the module itself, so it is not another import.
        if segments.len() > 1 && path.leading_colon.is_none() {
            self.paths.insert(segments);
        }
        visit::visit_path(self, path);
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    let text = |attribute: &syn::Attribute| match &attribute.meta {
        syn::Meta::List(list) if list.path.is_ident("cfg") => list.tokens.to_string(),
        _ => String::new(),
    };
    attributes.iter().map(text).any(|of| of == "test" || of.starts_with("all (test"))
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn name_of(item: &syn::Item) -> Option<String> {
    let name = match item {
        syn::Item::Const(item) => &item.ident,
        syn::Item::Enum(item) => &item.ident,
        syn::Item::Fn(item) => &item.sig.ident,
        syn::Item::Macro(item) if item.ident.is_none() => {
            // The name of an enum defined with `choices!` or `named!`.
            let tokens = item.mac.tokens.to_string();
            return tokens.split_once("enum ")?.1.split_whitespace().next().map(str::to_string);
        }
        syn::Item::Macro(item) => item.ident.as_ref()?,
        syn::Item::Static(item) => &item.ident,
        syn::Item::Struct(item) => &item.ident,
        syn::Item::Trait(item) => &item.ident,
        syn::Item::Type(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

/// The imports that form a cycle, as lines of text.
pub fn circles(imports: &Imports) -> Vec<String> {
    let mut targets: BTreeMap<&Path, Vec<&Path>> = BTreeMap::new();
    for (from, to) in imports.keys() {
        targets.entry(from).or_default().push(to);
    }
    let leads_to = |from: &Path, wanted: &Path| {
        let mut seen = BTreeSet::from([from]);
        let mut open = vec![from];
        while let Some(file) = open.pop() {
            let next = targets.get(file).into_iter().flatten();
            open.extend(next.filter(|file| seen.insert(file)));
        }
        seen.contains(wanted)
    };
    let on_circle = imports.iter().filter(|((from, to), _)| leads_to(to, from));
    on_circle
        .map(|((from, to), names)| format!("{} -> {}: {names:?}", from.display(), to.display()))
        .collect()
}
