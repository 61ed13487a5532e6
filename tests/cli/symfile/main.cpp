/* SPDX-License-Identifier: MIT */
#include "shapes.h"

#include <iostream>
#include <regex>
#include <sstream>
#include <stdexcept>

static long total;

template <int N> struct Fib {
    static long value(long scale) { return Fib<N - 1>::value(scale) + Fib<N - 2>::value(scale); }
};
template <> struct Fib<1> {
    static long value(long scale) { return scale; }
};
template <> struct Fib<0> {
    static long value(long scale) { return scale / 2; }
};

static void report(const shapes::List &list)
{
    shapes::Table<std::string, double> table;
    for (const auto &s : list) {
        table.add(s->name(), s->area());
    }
    table.each([](const std::string &key, double value) {
        std::cout << key << ' ' << value << '\n';
        total += static_cast<long>(value);
    });
}

int main(int argc, char **argv)
{
    std::vector<int> numbers;
    report(shapes::make(argc * 10));
    try {
        for (int i = 0; i < argc; i++) {
            numbers.push_back(shapes::parse(argv[i]));
        }
    } catch (const std::invalid_argument &e) {
        std::cout << e.what() << '\n';
    }
    std::ostringstream out;
    std::regex digits("[0-9]+");
    out << shapes::crunch(numbers) << Fib<8>::value(argc) << std::regex_search(argv[0], digits);
    std::cout << out.str() << ' ' << total << '\n';
    return 0;
}
