/* SPDX-License-Identifier: MIT */
#include "shapes.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace shapes {

namespace {

struct Counter {
    int n = 0;
    int next() { return ++n; }
};

static inline int twice(int x)
{
    int y = x * 2;
    return y % 7 ? y : y + 1;
}

static int folded(int x)
{
    int sum = 0;
    for (int i = 0; i < x; i++) {
        sum += twice(i) ^ twice(x - i);
    }
    return sum;
}

} // namespace

Box::Box(double w, double h) : Shape("box"), w_(clamp(w, 0.0, 100.0)), h_(h)
{
}

double Box::area() const
{
    return w_ * h_;
}

Disc::Disc(double r) : Shape("disc"), r_(r)
{
}

double Disc::area() const
{
    return 3.14159 * r_ * r_;
}

List make(int n)
{
    List list;
    Counter counter;
    for (int i = 0; i < n; i++) {
        if (counter.next() % 2) {
            list.push_back(std::make_unique<Box>(i, i + 1));
        } else {
            list.push_back(std::make_unique<Disc>(i));
        }
    }
    std::sort(list.begin(), list.end(),
              [](const auto &a, const auto &b) { return a->area() < b->area(); });
    return list;
}

int parse(const std::string &text)
{
    int value = 0;
    for (char c : text) {
        if (c < '0' || c > '9') {
            throw std::invalid_argument("not a digit: " + std::string(1, c));
        }
        value = value * 10 + (c - '0');
    }
    return folded(value % 50);
}

long crunch(const std::vector<int> &v)
{
    std::vector<int> sorted(v);
    std::stable_sort(sorted.begin(), sorted.end(), std::greater<int>());
    auto end = std::unique(sorted.begin(), sorted.end());
    return std::accumulate(sorted.begin(), end, 0L,
                           [](long a, int b) { return a * 3 + twice(b); });
}

} // namespace shapes
