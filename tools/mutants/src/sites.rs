//! Finds the places where a source can be changed, and the changes. Each place is found once in the
//! syntax tree; a change inserts text before, within and after the tokens at that place, so that
//! all lines keep their numbers.

use std::ops::Range;

use anyhow::{Context, Result};
use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{
    Arm, Attribute, BinOp, Block, Expr, ExprMatch, GenericArgument, Item, Pat, PathArguments,
    ReturnType, Signature, Stmt, Type, UnOp,
};

/// One or more changes of the same tokens.
pub struct Site {
    /// The function, qualified by its type.
    pub function: String,
    pub line: usize,
    pub last_line: usize,
    /// The description of each change.
    pub changes: Vec<String>,
    pub edits: Vec<Edit>,
}

/// An edit of a source; [`NUMBER`] in its text stands for the first change number of the site.
pub enum Edit {
    Before(usize, String),
    After(usize, String),
    Instead(Range<usize>, String),
}

pub const NUMBER: &str = "@N";

/// All sites of a source.
pub fn find(source: &str) -> Result<Vec<Site>> {
    let file = syn::parse_file(source).context("cannot be parsed")?;
    let mut finder =
        Finder { source, scope: Vec::new(), function: String::new(), sites: Vec::new() };
    finder.visit_file(&file);
    Ok(finder.sites)
}

struct Finder<'s> {
    source: &'s str,
    /// The enclosing modules, types and functions.
    scope: Vec<String>,
    function: String,
    sites: Vec<Site>,
}

fn bytes(span: Span) -> Range<usize> {
    span.byte_range()
}

/// Whether an item is compiled only for tests, or only on some machines.
fn is_left_out(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && !matches!(&attribute.meta, syn::Meta::List(list)
                    if list.tokens.to_string().starts_with("feature"))
    })
}

impl Finder<'_> {
    fn text(&self, range: Range<usize>) -> String {
        let text = self.source[range].split_whitespace().collect::<Vec<_>>().join(" ");
        if text.chars().count() <= 70 {
            return text;
        }
        let end: String = text.chars().skip(text.chars().count() - 20).collect();
        let start: String = text.chars().take(46).collect();
        format!("{start} .. {end}")
    }

    fn push(&mut self, span: Span, range: Range<usize>, changes: Vec<String>, edits: Vec<Edit>) {
        if self.function.is_empty() {
            return;
        }
        self.sites.push(Site {
            function: self.function.clone(),
            line: span.start().line,
            last_line: self.source[..range.end].matches('\n').count() + 1,
            changes,
            edits,
        });
    }

    /// Wraps an expression in a call of the runtime.
    fn wrap(&mut self, expr: &Expr, call: &str, changes: Vec<String>) {
        let range = bytes(expr.span());
        let edits = vec![
            Edit::Before(range.start, format!("crate::mutants::{call}({NUMBER}, ")),
            Edit::After(range.end, ")".to_owned()),
        ];
        self.push(expr.span(), range, changes, edits);
    }

    /// Negates a condition without an operator of its own.
    fn condition(&mut self, expr: &Expr) {
        let mut bare = expr;
        while let Expr::Paren(paren) = bare {
            bare = &paren.expr;
        }
        let is_plain =
            !matches!(bare, Expr::Let(_) | Expr::Binary(_) | Expr::Unary(_) | Expr::Lit(_));
        if is_plain {
            let text = self.text(bytes(expr.span()));
            self.wrap(expr, "flip", vec![format!("`{text}` -> its opposite")]);
        }
    }

    fn binary(&mut self, binary: &syn::ExprBinary) {
        use BinOp::*;
        let (call, others): (&str, &[&str]) = match binary.op {
            Lt(_) => ("lt", &["<=", ">="]),
            Gt(_) => ("gt", &[">=", "<="]),
            Le(_) => ("le", &["<", ">"]),
            Ge(_) => ("ge", &[">", "<"]),
            Eq(_) => ("eq", &["!="]),
            Ne(_) => ("ne", &["=="]),
            Add(_) | AddAssign(_) => ("add", &["-"]),
            Sub(_) | SubAssign(_) => ("sub", &["+"]),
            Mul(_) | MulAssign(_) => ("mul", &["+"]),
            Div(_) | DivAssign(_) => ("div", &["*"]),
            Rem(_) | RemAssign(_) => ("rem", &["/"]),
            BitAnd(_) | BitAndAssign(_) => ("and", &["|"]),
            BitOr(_) | BitOrAssign(_) => ("or", &["&"]),
            BitXor(_) | BitXorAssign(_) => ("xor", &["|"]),
            Shl(_) | ShlAssign(_) => ("shl", &[">>"]),
            Shr(_) | ShrAssign(_) => ("shr", &["<<"]),
            And(_) => ("", &["||"]),
            Or(_) => ("", &["&&"]),
            _ => return,
        };
        let whole = bytes(binary.span());
        let left = bytes(binary.left.span());
        let right = bytes(binary.right.span());
        let text = self.text(whole.clone());
        let changes = others.iter().map(|other| format!("`{text}` -> {other}")).collect::<Vec<_>>();
        let is_assigned = matches!(
            binary.op,
            AddAssign(_)
                | SubAssign(_)
                | MulAssign(_)
                | DivAssign(_)
                | RemAssign(_)
                | BitAndAssign(_)
                | BitOrAssign(_)
                | BitXorAssign(_)
                | ShlAssign(_)
                | ShrAssign(_)
        );
        let operator = bytes(binary.op.span());
        let edits = if call.is_empty() {
            if has_let(&binary.left) || has_let(&binary.right) {
                return;
            }
            // a || b is !(!a && !b), so that the operands are evaluated as before.
            let flip = |open: usize, close: usize| {
                [
                    Edit::Before(open, format!("crate::mutants::flip({NUMBER}, ")),
                    Edit::After(close, ")".to_owned()),
                ]
            };
            let mut edits = Vec::from(flip(whole.start, whole.end));
            edits.extend(flip(left.start, left.end));
            edits.extend(flip(right.start, right.end));
            edits
        } else if is_assigned {
            // The right side is evaluated first.
            let place = &self.source[left.clone()];
            vec![
                Edit::Instead(operator, format!("= crate::mutants::rev_{call}({NUMBER}, ")),
                Edit::After(right.end, format!(", {place})")),
            ]
        } else if matches!(binary.op, Lt(_) | Gt(_) | Le(_) | Ge(_) | Eq(_) | Ne(_)) {
            vec![
                Edit::Before(left.start, format!("crate::mutants::{call}({NUMBER}, &(")),
                Edit::After(left.end, ")".to_owned()),
                Edit::Instead(operator, ",".to_owned()),
                Edit::Before(right.start, "&(".to_owned()),
                Edit::After(right.end, "))".to_owned()),
            ]
        } else {
            vec![
                Edit::Before(left.start, format!("crate::mutants::{call}({NUMBER}, ")),
                Edit::Instead(operator, ",".to_owned()),
                Edit::After(right.end, ")".to_owned()),
            ]
        };
        self.push(binary.op.span(), whole, changes, edits);
    }

    fn statement(&mut self, statement: &Stmt) {
        let Stmt::Expr(expr, Some(_)) = statement else { return };
        if !acts(expr) {
            return;
        }
        let range = bytes(statement.span());
        let text = self.text(range.clone());
        let edits = vec![
            Edit::Before(range.start, format!("if crate::mutants::keep({NUMBER}) {{ ")),
            Edit::After(range.end, " }".to_owned()),
        ];
        self.push(statement.span(), range, vec![format!("`{text}` dropped")], edits);
    }

    fn arms(&mut self, expr: &ExprMatch) {
        let is_wild = |arm: &Arm| matches!(arm.pat, Pat::Wild(_)) && arm.guard.is_none();
        let Some(wild) = expr.arms.iter().position(is_wild) else { return };
        for arm in &expr.arms[..wild] {
            if arm.guard.is_none() {
                let range = bytes(arm.pat.span());
                let text = self.text(range.clone());
                let edits =
                    vec![Edit::After(range.end, format!(" if crate::mutants::keep({NUMBER})"))];
                self.push(arm.pat.span(), range, vec![format!("arm `{text}` dropped")], edits);
            }
        }
    }

    /// Makes a function return a plain value instead of running its body.
    fn function(&mut self, signature: &Signature, block: &Block) {
        let body = bytes(block.span());
        let inner = self.text(body.clone());
        let values = match &signature.output {
            ReturnType::Default => vec!["()".to_owned()],
            ReturnType::Type(_, of) => values(of),
        };
        let values: Vec<String> =
            values.into_iter().filter(|value| inner != format!("{{ {value} }}")).collect();
        if values.is_empty() || block.stmts.is_empty() {
            return;
        }
        for value in values {
            let text = format!(" if crate::mutants::on({NUMBER}) {{ return {value}; }}");
            let edits = vec![Edit::Before(body.start + 1, text)];
            let change =
                if value == "()" { "does nothing".into() } else { format!("returns {value}") };
            self.push(signature.ident.span(), body.clone(), vec![change], edits);
        }
    }

    fn within_function(
        &mut self,
        signature: &Signature,
        block: &Block,
        visit: impl FnOnce(&mut Self),
    ) {
        if signature.constness.is_some() {
            return;
        }
        let outer = self.function.clone();
        let mut names = self.scope.clone();
        names.push(signature.ident.to_string());
        self.function = names.join("::");
        if signature.ident != "main" {
            self.function(signature, block);
        }
        visit(self);
        self.function = outer;
    }
}

/// Whether an expression is a chain of `let` conditions.
fn has_let(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        Expr::Paren(paren) => has_let(&paren.expr),
        _ => false,
    }
}

/// Whether a statement has a side effect.
fn acts(expr: &Expr) -> bool {
    match expr {
        Expr::Call(_) | Expr::MethodCall(_) | Expr::Assign(_) | Expr::Await(_) => true,
        Expr::Try(tried) => acts(&tried.expr),
        _ => false,
    }
}

/// Plain values of a type.
fn values(of: &Type) -> Vec<String> {
    let list = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
    match of {
        Type::Tuple(tuple) if tuple.elems.is_empty() => list(&["()"]),
        Type::Tuple(tuple) => {
            let firsts: Option<Vec<String>> =
                tuple.elems.iter().map(|of| values(of).into_iter().next()).collect();
            firsts.map(|firsts| vec![format!("({})", firsts.join(", "))]).unwrap_or_default()
        }
        Type::Reference(reference) => match &*reference.elem {
            Type::Path(path) if path.path.is_ident("str") => list(&["\"\"", "\"xyzzy\""]),
            Type::Slice(_) if reference.mutability.is_none() => list(&["&[]"]),
            _ => Vec::new(),
        },
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else { return Vec::new() };
            let inner = match &last.arguments {
                PathArguments::AngleBracketed(arguments) => {
                    arguments.args.iter().find_map(|argument| match argument {
                        GenericArgument::Type(of) => Some(of),
                        _ => None,
                    })
                }
                _ => None,
            };
            match last.ident.to_string().as_str() {
                "bool" => list(&["false", "true"]),
                "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i32" | "i64" | "isize" => {
                    list(&["0", "1"])
                }
                "f32" | "f64" => list(&["0.0", "1.0"]),
                "String" => list(&["String::new()", "\"xyzzy\".into()"]),
                "Vec" => list(&["Vec::new()"]),
                "Option" => {
                    let inner = inner.map(values).unwrap_or_default();
                    let mut all = list(&["None"]);
                    all.extend(inner.iter().map(|value| format!("Some({value})")));
                    all
                }
                "Result" => {
                    let inner = inner.map(values).unwrap_or_default();
                    inner.iter().map(|value| format!("Ok({value})")).collect()
                }
                "Self" | "Box" | "Arc" | "Rc" | "Iter" => Vec::new(),
                _ => list(&["Default::default()"]),
            }
        }
        _ => Vec::new(),
    }
}

fn name_of(of: &Type) -> String {
    match of {
        Type::Path(path) => {
            path.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default()
        }
        Type::Reference(reference) => name_of(&reference.elem),
        _ => String::new(),
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Mod(item) => &item.attrs,
            Item::Trait(item) => &item.attrs,
            // Constants are evaluated at compile time; macros are not parsed.
            _ => return,
        };
        if !is_left_out(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.within_function(&item.sig, &item.block, |finder| finder.visit_block(&item.block));
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.scope.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.scope.pop();
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.scope.push(item.ident.to_string());
        visit::visit_item_trait(self, item);
        self.scope.pop();
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let named = item.trait_.as_ref().and_then(|(_, path, _)| path.segments.last());
        // Visible only in messages and debuggers.
        if named.is_some_and(|last| last.ident == "Debug" || last.ident == "Display") {
            return;
        }
        self.scope.push(name_of(&item.self_ty));
        visit::visit_item_impl(self, item);
        self.scope.pop();
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_left_out(&item.attrs) {
            self.within_function(&item.sig, &item.block, |finder| finder.visit_block(&item.block));
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.within_function(&item.sig, block, |finder| finder.visit_block(block));
        }
    }

    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_type(&mut self, _: &'ast Type) {}
    fn visit_pat(&mut self, _: &'ast Pat) {}
    fn visit_attribute(&mut self, _: &'ast Attribute) {}
    fn visit_generic_argument(&mut self, _: &'ast GenericArgument) {}

    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        self.statement(statement);
        visit::visit_stmt(self, statement);
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        self.binary(binary);
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        if matches!(unary.op, UnOp::Not(_)) {
            let whole = bytes(unary.span());
            let text = self.text(whole.clone());
            let edits = vec![
                Edit::Instead(bytes(unary.op.span()), format!("crate::mutants::not({NUMBER}, ")),
                Edit::After(whole.end, ")".to_owned()),
            ];
            self.push(unary.span(), whole, vec![format!("`{text}` -> without !")], edits);
        }
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let name = call.method.to_string();
        if (name == "min" || name == "max") && call.args.len() == 1 {
            let whole = bytes(call.span());
            let receiver = bytes(call.receiver.span());
            let text = self.text(whole.clone());
            let other = if name == "min" { "max" } else { "min" };
            let edits = vec![
                Edit::Before(whole.start, format!("crate::mutants::{name}({NUMBER}, ")),
                Edit::Instead(receiver.end..bytes(call.args[0].span()).start, ", ".to_owned()),
            ];
            self.push(call.method.span(), whole, vec![format!("`{text}` -> {other}")], edits);
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_if(&mut self, expr: &'ast syn::ExprIf) {
        self.condition(&expr.cond);
        visit::visit_expr_if(self, expr);
    }

    fn visit_expr_while(&mut self, expr: &'ast syn::ExprWhile) {
        self.condition(&expr.cond);
        visit::visit_expr_while(self, expr);
    }

    fn visit_expr_match(&mut self, expr: &'ast ExprMatch) {
        self.arms(expr);
        visit::visit_expr_match(self, expr);
    }

    fn visit_arm(&mut self, arm: &'ast Arm) {
        if let Some((_, guard)) = &arm.guard {
            self.condition(guard);
        }
        visit::visit_arm(self, arm);
    }
}
