//! The kernels that a user may ask for, one declaration each.

use super::memory_kernel;

memory_kernel! {
    /// Reads one array and adds it up. Nothing is written, so this is the most that reading can
    /// give.
    LOAD = "load", title: "sum of an array", formula: "s = s + b[i]",
    arrays: 1, reads: 1, writes: 0, flops: 1, factor: 1.0,
    ops: [sum b],
    reference: |on, i, _| on.b[i],
}

memory_kernel! {
    /// Writes one array and reads none. Ordinary stores bring each line into the cache first, so
    /// that twice the bytes are moved.
    STORE = "store", title: "initialisation", formula: "a[i] = q",
    // All bytes of the number are equal, so that an instruction which stores bytes can do it too.
    arrays: 1, reads: 0, writes: 1, flops: 0, factor: f64::from_bits(0x4040_4040_4040_4040),
    ops: [load q], string: stosb,
    reference: |_, _, q| q,
}

memory_kernel! {
    /// Copies an array to another one: the first of the four classic kernels.
    COPY = "copy", title: "copy", formula: "a[i] = b[i]",
    arrays: 2, reads: 1, writes: 1, flops: 0, factor: 1.0,
    ops: [load b], string: movsb,
    reference: |on, i, _| on.b[i],
}

memory_kernel! {
    /// Copies an array and multiplies it with a number: the second of the four classic kernels.
    SCALE = "scale", title: "scaled copy", formula: "a[i] = q * b[i]",
    arrays: 2, reads: 1, writes: 1, flops: 1, factor: 3.0,
    ops: [load b, mul q],
    reference: |on, i, q| q * on.b[i],
}

memory_kernel! {
    /// Adds two arrays: the third of the four classic kernels.
    ADD = "add", title: "sum of two arrays", formula: "a[i] = b[i] + c[i]",
    arrays: 3, reads: 2, writes: 1, flops: 1, factor: 1.0,
    ops: [load b, add c],
    reference: |on, i, _| on.b[i] + on.c[i],
}

memory_kernel! {
    /// Adds an array and a scaled one: the fourth of the four classic kernels.
    TRIAD = "triad", title: "sum with a scaled array", formula: "a[i] = b[i] + q * c[i]",
    arrays: 3, reads: 2, writes: 1, flops: 2, factor: 3.0,
    ops: [load c, mul q, add b],
    reference: |on, i, q| on.b[i] + q * on.c[i],
}

memory_kernel! {
    /// Multiplies an array in its place. Each line is read before it is written, so ordinary stores
    /// move no more than the program asks for.
    UPDATE = "update", title: "scaling in place", formula: "a[i] = q * a[i]",
    // The next number after 1: each trip adds one to the last place of what lies between 1 and 1.5.
    arrays: 1, reads: 1, writes: 1, flops: 1, factor: 1.0 + f64::EPSILON,
    ops: [load a, mul q],
    reference: |on, i, q| q * on.a[i],
}

memory_kernel! {
    /// Adds a scaled array to another one in its place, as BLAS does.
    DAXPY = "daxpy", title: "scaled sum in place", formula: "a[i] = a[i] + q * b[i]",
    arrays: 2, reads: 2, writes: 1, flops: 2, factor: 3.0,
    ops: [load b, mul q, add a],
    reference: |on, i, q| on.a[i] + q * on.b[i],
}

memory_kernel! {
    /// Multiplies two arrays and adds a third one: Schoenauer's triad, with the most arrays.
    STRIAD = "striad", title: "Schoenauer triad", formula: "a[i] = b[i] + c[i] * d[i]",
    arrays: 4, reads: 3, writes: 1, flops: 2, factor: 1.0,
    ops: [load c, mul d, add b],
    reference: |on, i, _| on.b[i] + on.c[i] * on.d[i],
}

memory_kernel! {
    /// Adds the product of two arrays to a third one in its place.
    SDAXPY = "sdaxpy", title: "sum of products in place", formula: "a[i] = a[i] + b[i] * c[i]",
    arrays: 3, reads: 3, writes: 1, flops: 2, factor: 1.0,
    ops: [load b, mul c, add a],
    reference: |on, i, _| on.a[i] + on.b[i] * on.c[i],
}
