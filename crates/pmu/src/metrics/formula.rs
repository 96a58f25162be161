//! Formulas over counts: names, numbers, the four operations, parentheses.
//!
//! Names of events have points and minuses in them (`l1-dcache-loads`), which expression libraries read
//! as operators; so this reads them itself. An operator stands between blanks.

use std::str::FromStr;

use serde::Deserialize;

/// A formula that was read.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct Formula {
    text: String,
    root: Node,
}

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Number(f64),
    Event(String),
    /// Left, operation, right.
    Both(Box<(Node, Operation, Node)>),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// Why there is no value, or no formula.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FormulaError {
    /// It cannot be read.
    #[error("cannot read formula `{text}`: {why}")]
    Text {
        /// The formula.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// A count is missing.
    #[error("`{0}` was not counted")]
    Missing(String),
    /// A divisor is zero.
    #[error("`{0}` is 0, and nothing can be divided by it")]
    Zero(String),
}

impl Formula {
    /// The events that it needs, each once, in its order.
    pub fn events(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.root.names(&mut names);
        names
    }

    /// As it is written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its value.
    pub fn value(&self, count: impl Fn(&str) -> Option<f64>) -> Result<f64, FormulaError> {
        self.root.value(&count)
    }
}

impl Node {
    fn names<'a>(&'a self, names: &mut Vec<&'a str>) {
        match self {
            Node::Number(_) => {}
            Node::Event(name) if names.contains(&name.as_str()) => {}
            Node::Event(name) => names.push(name),
            Node::Both(both) => {
                both.0.names(names);
                both.2.names(names);
            }
        }
    }

    fn value(&self, count: &impl Fn(&str) -> Option<f64>) -> Result<f64, FormulaError> {
        match self {
            Node::Number(number) => Ok(*number),
            Node::Event(name) => count(name).ok_or_else(|| FormulaError::Missing(name.clone())),
            Node::Both(both) => {
                let (left, right) = (both.0.value(count)?, both.2.value(count)?);
                match both.1 {
                    Operation::Add => Ok(left + right),
                    Operation::Subtract => Ok(left - right),
                    Operation::Multiply => Ok(left * right),
                    Operation::Divide if right == 0.0 => Err(FormulaError::Zero(both.2.text())),
                    Operation::Divide => Ok(left / right),
                }
            }
        }
    }

    /// For messages.
    fn text(&self) -> String {
        match self {
            Node::Number(number) => number.to_string(),
            Node::Event(name) => name.clone(),
            Node::Both(both) => {
                let sign = match both.1 {
                    Operation::Add => '+',
                    Operation::Subtract => '-',
                    Operation::Multiply => '*',
                    Operation::Divide => '/',
                };
                format!("({} {sign} {})", both.0.text(), both.2.text())
            }
        }
    }
}

impl TryFrom<String> for Formula {
    type Error = FormulaError;

    fn try_from(text: String) -> Result<Formula, FormulaError> {
        text.parse()
    }
}

impl FromStr for Formula {
    type Err = FormulaError;

    fn from_str(text: &str) -> Result<Formula, FormulaError> {
        let spaced = text.replace('(', " ( ").replace(')', " ) ");
        let mut words = Words { words: spaced.split_whitespace().collect(), depth: 0 };
        words.words.reverse();
        let wrong = |why: String| FormulaError::Text { text: text.to_owned(), why };
        let root = words.sum().map_err(wrong)?;
        match words.words.pop() {
            None => Ok(Formula { text: text.to_owned(), root }),
            Some(word) => Err(wrong(format!("`{word}` stands where an operator should"))),
        }
    }
}

/// What is left to read, the next word last.
struct Words<'a> {
    words: Vec<&'a str>,
    depth: u32,
}

impl Words<'_> {
    fn sum(&mut self) -> Result<Node, String> {
        let mut left = self.product()?;
        while let Some(operation) = self.operation(&["+", "-"]) {
            left = Node::Both(Box::new((left, operation, self.product()?)));
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Node, String> {
        let mut left = self.operand()?;
        while let Some(operation) = self.operation(&["*", "/"]) {
            left = Node::Both(Box::new((left, operation, self.operand()?)));
        }
        Ok(left)
    }

    fn operation(&mut self, wanted: &[&str]) -> Option<Operation> {
        let word = *self.words.last().filter(|word| wanted.contains(word))?;
        self.words.pop();
        Some(match word {
            "+" => Operation::Add,
            "-" => Operation::Subtract,
            "*" => Operation::Multiply,
            _ => Operation::Divide,
        })
    }

    fn operand(&mut self) -> Result<Node, String> {
        /// Deeper than anybody writes.
        const DEPTH_MAX: u32 = 50;
        let word = self.words.pop().ok_or("it ends too early")?;
        if word == "(" {
            self.depth += 1;
            if self.depth > DEPTH_MAX {
                return Err("it has too many parentheses".to_owned());
            }
            let inner = self.sum()?;
            self.depth -= 1;
            return match self.words.pop() {
                Some(")") => Ok(inner),
                _ => Err("a parenthesis is not closed".to_owned()),
            };
        }
        let first = word.chars().next().unwrap_or_default();
        if first.is_ascii_digit() {
            let number = word.parse::<f64>().ok().filter(|number| number.is_finite());
            return number.map(Node::Number).ok_or_else(|| format!("`{word}` is no number"));
        }
        let is_name = first.is_ascii_lowercase()
            && word
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c));
        if is_name { Ok(Node::Event(word.to_owned())) } else { Err(format!("`{word}` is no name")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<f64, FormulaError> {
        let count = |name: &str| match name {
            "a" => Some(6.0),
            "b-c.d" => Some(3.0),
            "zero" => Some(0.0),
            _ => None,
        };
        text.parse::<Formula>().unwrap().value(count)
    }

    #[test]
    fn operations_bind_as_usual() {
        for (text, expected) in [
            ("a", 6.0),
            ("1 + a * b-c.d", 19.0),
            ("(1 + a) * b-c.d", 21.0),
            ("a - 1 - 2", 3.0),
            ("a / b-c.d / 2", 1.0),
            ("100 * (a - b-c.d) / (a + 2.5e1)", 300.0 / 31.0),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
        assert_eq!(value("a + nothing"), Err(FormulaError::Missing("nothing".to_owned())));
        assert_eq!(value("a / (zero * a)"), Err(FormulaError::Zero("(zero * a)".to_owned())));
        let names: Formula = "a + b-c.d / (a + zero)".parse().unwrap();
        assert_eq!(names.events(), ["a", "b-c.d", "zero"]);
    }

    #[test]
    fn what_is_no_formula_says_why() {
        for (text, why) in [
            ("", "it ends too early"),
            ("a +", "it ends too early"),
            ("(a", "a parenthesis is not closed"),
            ("a )", "`)` stands where an operator should"),
            ("a b", "`b` stands where an operator should"),
            ("1x", "`1x` is no number"),
            ("1e999", "`1e999` is no number"),
            ("a * B", "`B` is no name"),
            ("+ a", "`+` is no name"),
            (&"( ".repeat(60), "it has too many parentheses"),
        ] {
            let error = text.parse::<Formula>().unwrap_err();
            let FormulaError::Text { why: said, .. } = &error else { panic!("{error}") };
            assert_eq!(said, why, "{text}");
        }
    }
}
