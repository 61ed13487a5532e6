/* SPDX-License-Identifier: MIT */
/* A C++ program for the tests of symbols: several files, templates, much to inline. */
#ifndef SHAPES_H
#define SHAPES_H

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace shapes
{

template <typename T> inline T clamp(T v, T lo, T hi)
{
    if (v < lo) {
        return lo;
    }
    return v > hi ? hi : v;
}

class Shape
{
  public:
    explicit Shape(std::string name) : name_(std::move(name))
    {
    }
    virtual ~Shape() = default;
    virtual double area() const = 0;
    const std::string &name() const
    {
        return name_;
    }

  private:
    std::string name_;
};

class Box : public Shape
{
  public:
    Box(double w, double h);
    double area() const override;
    Box operator+(const Box &other) const
    {
        return Box(w_ + other.w_, h_ + other.h_);
    }

  private:
    double w_, h_;
};

class Disc : public Shape
{
  public:
    explicit Disc(double r);
    double area() const override;

  private:
    double r_;
};

template <typename K, typename V> class Table
{
  public:
    void add(const K &key, V value)
    {
        values_[key] += clamp<V>(value, 0, 1000);
    }
    template <typename F> void each(F f) const
    {
        for (const auto &[key, value] : values_) {
            f(key, value);
        }
    }

  private:
    std::map<K, V> values_;
};

using List = std::vector<std::unique_ptr<Shape>>;
List make(int n);
int parse(const std::string &text);
long crunch(const std::vector<int> &v);

} // namespace shapes

#endif
