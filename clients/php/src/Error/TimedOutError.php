<?php

declare(strict_types=1);

namespace Gatehouse\Client\Error;

/** No answer arrived in time. */
final class TimedOutError extends ConnectionError
{
}
