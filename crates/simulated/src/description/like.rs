//! What descriptions have in common, in `machines/like/`: a description leaves to the one that its key `like` names what it
//! does not say itself.

use toml::{Table, Value};

const BASES: &[(&str, &str)] = &[
    ("small", include_str!("../machines/like/small.toml")),
    ("avx2", include_str!("../machines/like/avx2.toml")),
    ("avx512", include_str!("../machines/like/avx512.toml")),
    ("laptop", include_str!("../machines/laptop.toml")),
    ("epyc", include_str!("../machines/epyc.toml")),
    ("sapphire", include_str!("../machines/sapphire.toml")),
];

/// A description with what it leaves to another one.
pub(super) fn complete(text: &str) -> Result<Table, String> {
    let mut own: Table = toml::from_str(text).map_err(|error| error.to_string())?;
    let Some(like) = own.remove("like") else { return Ok(own) };
    let base = BASES.iter().find(|(name, _)| like.as_str() == Some(name));
    let (_, base) = base.ok_or_else(|| {
        let names: Vec<&str> = BASES.iter().map(|(name, _)| *name).collect();
        format!("`like` must be one of {}", names.join(", "))
    })?;
    Ok(over(own, complete(base)?))
}

/// Tables are one; of everything else the own value stands.
fn over(own: Table, mut base: Table) -> Table {
    for (key, value) in own {
        let value = match (value, base.remove(&key)) {
            (Value::Table(own), Some(Value::Table(base))) => Value::Table(over(own, base)),
            (own, _) => own,
        };
        base.insert(key, value);
    }
    base
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_is_as_in_the_other_one() {
        let own = "like = \"avx512\"\nseed = 2\n[costs]\nscalar_iadd = { cycles = 2.0, licence = \"L0\" }";
        let all = complete(own).unwrap();
        assert_eq!(all["seed"].as_integer(), Some(2));
        let cycles = |stream: &str| all["costs"][stream]["cycles"].as_float();
        assert_eq!(cycles("scalar_iadd"), Some(2.0), "its own");
        assert_eq!(cycles("avx512_fma"), Some(4.0), "of the one that it names");
        assert_eq!(cycles("ruler"), Some(3.0), "of the one that this one names");
        assert!(!all.contains_key("like"));
        let error = complete("like = \"nobody\"").unwrap_err();
        assert_eq!(error, "`like` must be one of small, avx2, avx512, laptop, epyc, sapphire");
    }
}
