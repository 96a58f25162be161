# The bandwidth of memory, from Julia: julia bandwidth.jl [MACHINE]
const LIBRARY = "libcpudyno.so.0"

struct Value
    median::Cdouble
    minimum::Cdouble
    maximum::Cdouble
    samples::UInt64
    is_doubtful::UInt32
end

struct Bandwidth
    threads::UInt32
    copy::Value
    scale::Value
    add::Value
    triad::Value
end

function bandwidth(machine, threads, seconds)
    found = Ref{Bandwidth}()
    machine = isnothing(machine) ? C_NULL : machine
    status = ccall((:cd_memory_bandwidth, LIBRARY), Cint,
                   (Cstring, UInt32, Cdouble, Ref{Bandwidth}), machine, threads, seconds, found)
    status == 0 || error(unsafe_string(ccall((:cd_error_text, LIBRARY), Cstring, ())))
    return found[]
end

found = bandwidth(get(ARGS, 1, nothing), 0, 10.0)
println(found.threads, " threads, triad: ", round(found.triad.median / 1e9, digits = 1), " GB/s")
