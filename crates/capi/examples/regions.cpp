// Regions as objects, in threads: g++ regions.cpp -lcpudyno && ./a.out
#include <cpudyno.h>
#include <iostream>
#include <stdexcept>
#include <thread>

static void ok(cd_status status) {
    if (status != CD_OK) throw std::runtime_error(cd_error_text());
}

// Enters a region, and leaves it at the end of its block, whatever happens there.
class Inside {
    cd_regions regions;
    uint32_t region;
public:
    Inside(cd_regions of, uint32_t one) : regions(of), region(one) { ok(cd_region_start(of, one)); }
    ~Inside() { cd_region_stop(regions, region); }
};

int main(int argc, char **argv) try {
    cd_regions regions;
    uint32_t work;
    ok(cd_regions_open(argc > 1 ? argv[1] : nullptr, "instructions", &regions));
    ok(cd_region(regions, "work", &work));
    auto packets = [=] {
        Inside inside(regions, work);
        ok(cd_regions_loop(regions, 1000)); // your work: here two instructions, 1000 times
    };
    std::thread other(packets);
    packets();
    other.join();
    char *text;
    ok(cd_regions_text(regions, &text));
    std::cout << text;
    ok(cd_string_free(&text));
    ok(cd_regions_close(regions));
} catch (const std::exception &error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
}
