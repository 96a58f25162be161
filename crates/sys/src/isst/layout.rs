//! Structures of the kernel as bytes: little endian, each field at a stated place.

/// A number, or several in a row.
pub trait Field: Sized {
    /// How many bytes it takes.
    const BYTES: usize;
    /// Reads it.
    fn get(bytes: &[u8]) -> Self;
    /// Writes it.
    fn put(&self, bytes: &mut [u8]);
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl Field for $number {
            const BYTES: usize = size_of::<$number>();

            fn get(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<$number>()];
                own.copy_from_slice(&bytes[..<$number as Field>::BYTES]);
                <$number>::from_le_bytes(own)
            }

            fn put(&self, bytes: &mut [u8]) {
                bytes[..<$number as Field>::BYTES].copy_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}

numbers!(u8 u16 u32 u64);

impl<T: Field, const N: usize> Field for [T; N] {
    const BYTES: usize = N * T::BYTES;

    fn get(bytes: &[u8]) -> Self {
        std::array::from_fn(|i| T::get(&bytes[i * T::BYTES..]))
    }

    fn put(&self, bytes: &mut [u8]) {
        for (i, item) in self.iter().enumerate() {
            item.put(&mut bytes[i * T::BYTES..]);
        }
    }
}

/// A structure of the kernel.
pub trait Layout: Default {
    /// How many bytes it takes.
    const BYTES: usize;
    /// Reads it.
    fn from_bytes(bytes: &[u8]) -> Self;
    /// Writes its fields; what lies between them stays.
    fn to_bytes(&self, bytes: &mut [u8]);
}

/// Structures with the places of their fields.
macro_rules! layouts {
    ($(
        $(#[$doc:meta])*
        $name:ident[$bytes:literal] {
            $($(#[$field_doc:meta])* $field:ident: $kind:ty = $at:literal,)*
        }
    )*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $kind,)*
        }

        impl $crate::isst::layout::Layout for $name {
            const BYTES: usize = $bytes;

            fn from_bytes(bytes: &[u8]) -> Self {
                use $crate::isst::layout::Field;
                $name { $($field: <$kind as Field>::get(&bytes[$at..]),)* }
            }

            fn to_bytes(&self, bytes: &mut [u8]) {
                use $crate::isst::layout::Field;
                $(self.$field.put(&mut bytes[$at..]);)*
            }
        }
    )*};
}

pub(crate) use layouts;
