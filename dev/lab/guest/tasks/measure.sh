# Short measurements of each kind.
case $(uname -m) in aarch64) wide=neon_fma ;; *) wide=avx256_fma ;; esac
ask measure-turbo 120 cpudyno turbo --test scalar_iadd,$wide --max-threads 2 $WIDE
ask measure-pause 90 cpudyno pause --budget 3s $WIDE
ask measure-cores 120 cpudyno cores --budget 5s $WIDE
ask measure-wake 120 cpudyno wake --budget 5s $WIDE
ask measure-openmp 120 cpudyno openmp --budget 6s $WIDE
ask measure-memory 120 cpudyno memory --budget 5s $WIDE
ask measure-latency 120 cpudyno memory latency --budget 5s $WIDE
as_user measure-user 60 cpudyno top --once $WIDE
