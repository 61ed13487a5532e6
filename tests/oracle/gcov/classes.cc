// SPDX-License-Identifier: MIT
// C++: constructors, templates, lambdas, virtual functions, exceptions.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace shapes {

class Shape {
public:
    explicit Shape(int size)
        : size_(size)
    {
        count++;
    }
    virtual ~Shape()
    {
        count--;
    }
    virtual int area() const = 0;
    int size() const
    {
        return size_;
    }
    static int count;

private:
    int size_;
};

int Shape::count = 0;

class Square : public Shape {
public:
    explicit Square(int size)
        : Shape(size)
    {
    }
    int area() const override
    {
        return size() * size();
    }
};

class Line : public Shape {
public:
    Line()
        : Shape(1)
    {
    }
    int area() const override
    {
        return 0;
    }
    int length() const
    {
        return size();
    }
};

} // namespace shapes

template <typename T>
T largest(const std::vector<T> &v)
{
    T best = v[0];
    for (size_t i = 1; i < v.size(); i++) {
        if (v[i] > best) {
            best = v[i];
        }
    }
    return best;
}

template <typename T>
class Stack {
public:
    void push(T v)
    {
        items_.push_back(v);
    }
    T pop()
    {
        if (items_.empty()) {
            throw std::runtime_error("empty");
        }
        T v = items_.back();
        items_.pop_back();
        return v;
    }

private:
    std::vector<T> items_;
};

static int may_throw(int n)
{
    if (n % 3 == 0) {
        throw n;
    }
    return n;
}

static int catches(int n)
{
    int r = 0;
    try {
        r = may_throw(n);
        r += 100;
    } catch (int v) {
        r = -v;
    }
    return r;
}

static int areas()
{
    int total = 0;
    std::vector<std::unique_ptr<shapes::Shape>> all;
    all.emplace_back(new shapes::Square(3));
    all.emplace_back(new shapes::Square(4));
    all.emplace_back(new shapes::Line);
    for (const auto &s : all) {
        total += s->area();
    }
    return total + shapes::Shape::count;
}

static int with_lambda(std::vector<int> v)
{
    int calls = 0;
    auto less = [&](int a, int b) {
        calls++;
        return a < b;
    }; // gcov: the statement's, not the lambda's
    std::sort(v.begin(), v.end(), less);
    return v[0] + (calls > 0);
}

struct Guard {
    explicit Guard(int *where)
        : where_(where)
    {
        ++*where_;
    }
    ~Guard()
    {
        --*where_;
    }
    int *where_;
};

static int guarded(int n, int *depth)
{
    Guard guard(depth);
    if (n > 2) {
        return *depth;
    }
    may_throw(n);
    return n;
}

int main()
{
    int total = 0;
    int depth = 0;
    total += areas();
    total += largest(std::vector<int>{3, 9, 4});
    total += static_cast<int>(largest(std::vector<double>{0.5, 2.5, 1.0, 7.0}));
    Stack<int> stack;
    stack.push(4);
    stack.push(5);
    total += stack.pop();
    for (int i = 0; i < 7; i++) {
        total += catches(i);
    }
    total += with_lambda({5, 2, 7, 1});
    for (int i = 1; i < 6; i++) {
        try {
            total += guarded(i % 4, &depth);
        } catch (int) {
            total += 1000;
        }
    }
    std::printf("%d %d\n", total, depth);
    return 0;
}
