<?php

declare(strict_types=1);

namespace Gatehouse\Client;

/**
 * The fields of a JSON object.
 *
 * @internal
 */
final class Fields
{
    /** @param array<mixed> $fields */
    public function __construct(private readonly array $fields)
    {
    }

    /** @throws \UnexpectedValueException when the field is no text */
    public function text(string $name): string
    {
        $value = $this->fields[$name] ?? null;
        return is_string($value) ? $value : throw new \UnexpectedValueException("$name is no text");
    }

    /** @throws \UnexpectedValueException when the field is no whole number */
    public function number(string $name): int
    {
        $value = $this->fields[$name] ?? null;
        return is_int($value) ? $value : throw new \UnexpectedValueException("$name is no whole number");
    }

    /** @throws \UnexpectedValueException when the field is no object */
    public function object(string $name): self
    {
        $value = $this->fields[$name] ?? null;
        return is_array($value) ? new self($value) : throw new \UnexpectedValueException("$name is no object");
    }

    /** @return array<mixed> */
    public function all(): array
    {
        return $this->fields;
    }
}
