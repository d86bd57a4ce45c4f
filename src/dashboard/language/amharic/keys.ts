import type { keys as english } from '../english/keys.ts';

export const keys: typeof english = {
  title: 'የAPI ቁልፎች',
  lead: 'ፕሮግራሞችዎ የእርስዎ መሆናቸውን በቁልፍ ያረጋግጣሉ። አንድ ቁልፍ አንድ አካባቢን ብቻ ይከፍታል፤ የሚታየውም ሲዘጋጅ አንድ ጊዜ ብቻ ነው።',
  columns: { name: 'ቁልፍ', state: 'ሁኔታ', created: 'የተዘጋጀው', lastUsed: 'መጨረሻ ያገለገለው', actions: 'ተግባራት' },
  unnamed: 'ስም የሌለው',
  states: {
    active: 'በሥራ ላይ',
    ending: (when) => `እስከ ${when} ይሠራል`,
    expired: 'ጊዜው ያለፈ',
    revoked: 'የተሰረዘ',
  },
  neverUsed: 'አላገለገለም',
  empty: {
    title: 'ገና ቁልፍ የለም',
    body: 'ቁልፍ ያዘጋጁ፤ ከዚያ ፕሮግራምዎ የመጀመሪያውን ትዕዛዝ መመዝገብ ይችላል።',
  },
  issue: {
    title: 'ቁልፍ ያዘጋጁ',
    label: 'የሚያገለግለው ለምንድን ነው?',
    hint: 'በኋላ ከሌሎች ለመለየት፤ ለምሳሌ “ድረ ገጽ” ወይም “ሰርቨር 2”።',
    submit: 'ቁልፍ ይዘጋጅ',
    tooMany: 'የሚሠሩ 20 ቁልፎች አሉ። ሌላ ከማዘጋጀትዎ በፊት የማያስፈልግ አንዱን ይሰርዙ።',
  },
  made: {
    title: 'አዲሱ ቁልፍዎ',
    lead: 'አሁን ቀድተው ፕሮግራምዎ በሚያገኘው ቦታ ያስቀምጡት፤ ዳግም አይታይም። ቁልፉ ያለው ሰው በእርስዎ ስም መሥራት ይችላል።',
    replaced: (when) => `የሚተካው ቁልፍ እስከ ${when} ይሠራል። ከዚያ በፊት አዲሱን በቦታው ያስገቡ።`,
    done: 'አስቀምጬዋለሁ',
  },
  rotate: {
    open: 'ይተኩ',
    body: 'አዲስ ቁልፍ ይዘጋጃል። ሥራ እንዳይቋረጥ የሚተካው ቁልፍ ለተወሰነ ጊዜ መሥራቱን ይቀጥላል።',
    overlap: 'የድሮው ቁልፍ የሚሠራበት ተጨማሪ ጊዜ',
    overlaps: { hour: '1 ሰዓት', day: '24 ሰዓት', week: '7 ቀን', month: '30 ቀን' },
    submit: 'አዲሱ ቁልፍ ይዘጋጅ',
  },
  revoke: {
    open: 'ይሰርዙ',
    body: 'ይህን ቁልፍ የሚጠቀሙ ፕሮግራሞች በአምስት ሰከንድ ውስጥ ተቀባይነት ያጣሉ። ሊመለስ አይችልም።',
    submit: 'ለዘለቄታው ይሰረዝ',
    done: (name) => `${name} ተሰርዟል።`,
  },
};
